import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { GroupCommit } from '../src/sqlite/group-commit.ts';

describe('a group commit', () => {
  it('stores what comes alone at the end of its own turn', async () => {
    const groups: string[][] = [];
    const together = new GroupCommit<string>({ store: (items) => groups.push([...items]) });
    const added = together.add('a');
    expect(groups).toEqual([]);
    await setImmediate();
    expect(groups).toEqual([['a']]);
    await added;
  });

  it('takes in what further turns bring, but does not wait for ever', async () => {
    const groups: number[] = [];
    const together = new GroupCommit<number>({ store: (items) => groups.push(items.length) });
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
    const together = new GroupCommit<string>({
      store: (items) => {
        if (full) throw new Error('the disk is full');
        stored.push(...items);
      },
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
    const { stored, late, again, groups, disk } = fullDisk({ waiting: 3, together: 2 });
    const added = ['a', 'b'].map((item) => groups.add(item));
    groups.flush();
    expect(late).toEqual(['a', 'b']);
    added.push(...['c', 'd'].map((item) => groups.add(item)));
    expect({ stored, late }).toEqual({ stored: [], late: ['a', 'b', 'c', 'd'] });
    disk.full = false;
    again();
    const outcomes = await Promise.allSettled(added);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    expect(stored).toEqual([['b', 'c'], ['d']]);
  });

  it('is given up by its end, and one that was given up leaves nothing waiting', async () => {
    const { stored, groups, disk } = fullDisk({ waiting: 9, together: 2 });
    const added = ['a', 'b', 'c'].map((item) => groups.add(item));
    groups.flush();
    groups.close();
    expect((await Promise.allSettled(added)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    disk.full = false;
    groups.flush();
    expect(stored).toEqual([]);
  });
});

/** A group commit on a disk that is full, with both of its timers in hand. */
function fullDisk(mostLate: { waiting: number; together: number }) {
  const stored: string[][] = [];
  const late: string[] = [];
  const disk = { full: true };
  const [retry, pause] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const groups = new GroupCommit<string>({
    store: (items) => {
      if (disk.full) throw new Error('the disk is full');
      stored.push([...items]);
    },
    tryAgain: () => retry.promise,
    soon: () => pause.promise,
    late: (item) => late.push(item),
    mostLate,
  });
  return { stored, late, disk, groups, again: retry.resolve, soon: pause.resolve };
}
