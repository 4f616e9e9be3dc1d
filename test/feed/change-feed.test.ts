import { describe, expect, it } from 'vitest';
import { ChangeFeed } from '../../src/feed/changes.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import { readsOf } from '../../src/kernel/sqlite/statements.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const by = { sent_at: instant(1000), reason: 'cadence-elapsed' } as const;

function add({ mirror }: TestMirror, product_id: number): void {
  mirror.transaction(() => mirror.changes.add({ product_id, kind: 'sale_enabled', detail: {} }, by));
}

describe('the feed as it is read', () => {
  it('goes on after a cursor without a gap or a repetition, whatever the limit', () => {
    using test = testMirror();
    for (let id = 1; id <= 7; id += 1) add(test, id);
    const feed = new ChangeFeed(readsOf(test.reader));
    for (const limit of [1, 2, 3, 7, 100]) {
      const seen: number[] = [];
      for (let cursor = 0; cursor < 7; ) {
        const page = feed.after(cursor, limit);
        seen.push(...page.changes.map(({ seq }) => seq));
        cursor = page.next;
      }
      expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
    }
    expect(feed.after(7, 10)).toMatchObject({ changes: [], next: 7, floor: 0, newest: 7 });
  });

  it('of nothing, and after retention has taken everything, ends where it began: the newest number stays known', () => {
    using test = testMirror();
    const feed = new ChangeFeed(readsOf(test.reader));
    expect(feed.after(0, 10)).toMatchObject({ changes: [], next: 0, floor: 0, newest: 0 });
    add(test, 1);
    add(test, 2);
    test.mirror.transaction(() => test.mirror.changes.prune(instant(9000)));
    expect(feed.after(2, 10)).toMatchObject({ changes: [], next: 2, floor: 2, newest: 2 });
    expect(() => feed.after(1, 10)).toThrow(expect.objectContaining({ code: 'cursor-too-old', exitCode: 65 }));
    expect(() => feed.after(3, 10)).toThrow(expect.objectContaining({ code: 'cursor-from-the-future', exitCode: 65 }));
    add(test, 3);
    expect(feed.after(2, 10).changes.map(({ seq }) => seq)).toEqual([3]);
  });
});

describe('a listener to changes', () => {
  it('is told after the commit, when any reader sees the row, and of a rollback nothing', () => {
    using test = testMirror();
    const seen: unknown[] = [];
    const listening = test.mirror.onChanges(() => seen.push(test.all('SELECT seq FROM changes')));
    add(test, 1);
    expect(seen).toEqual([[{ seq: 1 }]]);
    const failing = () =>
      test.mirror.transaction(() => {
        test.mirror.changes.add({ product_id: 2, kind: 'sale_enabled', detail: {} }, by);
        throw new Error('rolled back');
      });
    expect(failing).toThrow('rolled back');
    test.mirror.transaction(() => test.mirror.noteDelivery({ last_delivery_id: 1 }));
    expect(seen).toHaveLength(1);
    // The inner one is not committed before the outer one.
    test.mirror.transaction(() => {
      add(test, 2);
      add(test, 3);
      expect(seen).toHaveLength(1);
    });
    expect(seen).toEqual([[{ seq: 1 }], [{ seq: 1 }, { seq: 2 }, { seq: 3 }]]);
    listening[Symbol.dispose]();
    add(test, 4);
    expect(seen).toHaveLength(2);
  });
});
