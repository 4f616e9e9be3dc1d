import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { groupCommit } from '../../src/inbox/group-commit.ts';

describe('a group commit', () => {
  it('stores what comes alone at the end of its own turn', async () => {
    const groups: string[][] = [];
    const { add } = groupCommit<string>((items) => groups.push([...items]));
    const added = add('a');
    expect(groups).toEqual([]);
    await setImmediate();
    expect(groups).toEqual([['a']]);
    await added;
  });

  it('takes in what further turns bring, but does not wait for ever', async () => {
    const groups: number[] = [];
    const { add } = groupCommit<number>((items) => groups.push(items.length));
    const added: Promise<void>[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      added.push(add(turn), add(turn));
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
    const { add } = groupCommit<string>((items) => {
      if (full) throw new Error('the disk is full');
      stored.push(...items);
    });
    const first = [add('a'), add('b')];
    const late = Promise.allSettled(first).then(() => {
      full = false;
      return Promise.all([add('c'), add('d')]);
    });
    expect((await Promise.allSettled(first)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await late;
    expect(stored).toEqual(['c', 'd']);
  });
});
