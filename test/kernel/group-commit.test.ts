import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { anyNumber, GroupCommit } from '../../src/kernel/sqlite/group-commit.ts';

describe('a group commit', () => {
  it('stores what comes alone at the end of its own turn', async () => {
    const groups: string[][] = [];
    const together = given<string>((items) => groups.push([...items]));
    const added = together.add('a');
    expect(groups).toEqual([]);
    await setImmediate();
    expect(groups).toEqual([['a']]);
    await added;
  });

  it('takes in what further turns bring, but does not wait for ever', async () => {
    const groups: number[] = [];
    const together = given<number>((items) => groups.push(items.length));
    const added: Promise<void>[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      added.push(together.add(turn), together.add(turn));
      await setImmediate();
    }
    await Promise.all(added);
    expect(groups.reduce((sum, size) => sum + size, 0)).toBe(24);
    expect(groups.length).toBeGreaterThanOrEqual(3);
    expect(groups.length).toBeLessThan(12);
  });

  it('fails for all of a group, and only for them; nothing that is added meanwhile is lost', async () => {
    const stored: string[] = [];
    let full = true;
    const together = given<string>((items) => {
      if (full) throw new Error('the disk is full');
      stored.push(...items);
    });
    const first = [together.add('a'), together.add('b')];
    const late = Promise.allSettled(first).then(() => {
      full = false;
      return Promise.all([together.add('c'), together.add('d')]);
    });
    expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await late;
    expect(stored).toEqual(['c', 'd']);
  });

  it('is tried again as long as it should be: what comes meanwhile joins it, and is told that it is late', async () => {
    const { stored, late, again, groups, add, disk } = fullDisk({ waiting: 3, together: 2 });
    const added = ['a', 'b'].map(add);
    groups.flush();
    expect(late).toEqual(['a', 'b']);
    added.push(...['c', 'd'].map(add));
    expect({ stored, late }).toEqual({ stored: [], late: ['a', 'b', 'c', 'd'] });
    disk.full = false;
    again();
    const outcomes = await Promise.allSettled(added);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(stored).toEqual([['b', 'c'], ['d']]);
  });

  it('is given up by its end, and one that was given up leaves nothing waiting', async () => {
    const { stored, groups, add, disk } = fullDisk({ waiting: 9, together: 2 });
    const added = ['a', 'b', 'c'].map(add);
    groups.flush();
    groups.close();
    expect((await Promise.allSettled(added)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    disk.full = false;
    groups.flush();
    expect(stored).toEqual([]);
  });
});

function given<Item>(store: (items: readonly Item[]) => void): GroupCommit<Item> {
  return new GroupCommit(systemClock.monotonic, store, { tryAgain: () => null, most: anyNumber });
}

/** A group commit on a disk that is full, with its timer in hand. */
function fullDisk(most: { waiting: number; together: number }) {
  const stored: string[][] = [];
  const late: string[] = [];
  const disk = { full: true };
  const retry = Promise.withResolvers<void>();
  const store = (items: readonly string[]) => {
    if (disk.full) throw new Error('the disk is full');
    stored.push([...items]);
  };
  const groups = new GroupCommit<string>(systemClock.monotonic, store, { tryAgain: () => retry.promise, most });
  const add = (item: string) => groups.add(item, { late: () => late.push(item) });
  return { stored, late, disk, groups, add, again: retry.resolve };
}
