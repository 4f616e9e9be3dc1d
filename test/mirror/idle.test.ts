import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { instant } from '../../src/kernel/clock.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;

/** Counts the statements that read while `work` runs. */
async function questionsIn(work: () => Promise<unknown>): Promise<number> {
  const db = new Database(':memory:');
  const kind = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<'get' | 'all', (...bound: never[]) => unknown>;
  const { get, all } = kind;
  let asked = 0;
  const counted = (own: typeof get) =>
    function (this: unknown, ...bound: never[]) {
      asked += 1;
      return own.apply(this, bound);
    };
  Object.assign(kind, { get: counted(get), all: counted(all) });
  try {
    await work();
  } finally {
    Object.assign(kind, { get, all });
    db.close();
  }
  return asked;
}

it('a sync cycle in which nothing is due asks the mirror one question', async () => {
  await using harness = await filledHarness({ products: 2 });
  const { sync, mirror } = harness.daemon;
  const cycle = () => harness.drive(runSyncCycle(sync, 1, { job_id: null, signal: never }));
  await cycle();
  expect(await questionsIn(cycle)).toBe(1);
  expect(mirror.isIdle(sync.clock.now())).toBe(true);
});

it('a mirror is not idle once a record is due, a resync is open, or a change has no cycle, nor before it is filled', async () => {
  await using harness = await filledHarness({ products: 2 });
  const { sync, mirror } = harness.daemon;
  const now = () => sync.clock.now();
  await harness.drive(runSyncCycle(sync, 1, { job_id: null, signal: never }));
  const next = mirror.schedule.records.nextDueAt(null) ?? Number.NaN;
  expect([mirror.isIdle(instant(next - 1)), mirror.isIdle(instant(next))]).toEqual([true, false]);
  const without = (change: string) => {
    const db = new Database(mirror.path);
    db.exec(change);
    const found = mirror.isIdle(now());
    db.close();
    return found;
  };
  expect(without("INSERT INTO _job (scope, requested_at, records) VALUES ('all', 0, 0)")).toBe(false);
  expect(without('DELETE FROM _job')).toBe(true);
  expect(without("DELETE FROM _change WHERE seq = (SELECT max(seq) FROM _change) AND kind = 'pass_completed'")).toBe(
    false,
  );
  expect(without('DELETE FROM _change')).toBe(true);
  expect(without('UPDATE _mirror SET filled_at = NULL')).toBe(false);
});
