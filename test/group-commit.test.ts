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

  it('on a slow disk takes in what each turn brings, for no longer than its last commit took', async () => {
    const groups: number[] = [];
    let now = 0;
    const together = new GroupCommit<number>({
      store: (items) => {
        groups.push(items.length);
        now += 200;
      },
      monotonic: () => now,
    });
    /** One a turn, which takes so long, as connections are accepted. */
    const come = async (turns: number, ms: number) => {
      const added: Promise<void>[] = [];
      for (let turn = 0; turn < turns; turn += 1) {
        added.push(together.add(turn));
        now += ms;
        await setImmediate();
      }
      await Promise.all(added);
      return groups.splice(0);
    };
    expect(await come(1, 0)).toEqual([1]);
    expect(await come(50, 1)).toEqual([50]);
    expect(await come(40, 10)).toEqual([20, 20]);
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

  it('that nobody waits for is stored when others have joined it, with the first that somebody waits for', async () => {
    const { stored, groups, disk, soon } = fullDisk({ waiting: 9, together: 9 });
    disk.full = false;
    const first = [groups.add('a', 'soon'), groups.add('b', 'soon')];
    await setImmediate();
    expect(stored).toEqual([]);
    soon();
    await Promise.all(first);
    await Promise.all([groups.add('c', 'soon'), groups.add('d')]);
    expect(stored).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
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
