import { afterAll, beforeAll, expect, it } from 'vitest';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
let harness: VirtualHarness;

beforeAll(async () => {
  harness = await filledHarness({ products: 2, lean: true }, { scheduling: 'fixed' });
});
afterAll(() => harness[Symbol.asyncDispose]());

function records<Row>(sql: string): Row[] {
  const db = openMirrorAt(harness.daemon.mirror.path, harness.clock.now());
  const rows = db.prepare<[], Row>(sql).all();
  db.close();
  return rows;
}

it('a read is believed as long as its cadence, from when it was asked for', () => {
  const found = records<{ resource: string; hours: number }>(
    `SELECT DISTINCT resource, (stale_at - fetched_at) / ${hour}.0 AS hours FROM _record WHERE fetched_at IS NOT NULL ORDER BY 1, 2`,
  );
  const hours = Object.groupBy(found, ({ resource }) => resource);
  expect(hours.availability?.map((each) => each.hours)).toEqual([6, 24]);
  expect(hours.variants?.map((each) => each.hours)).toEqual([7 * 24]);
});

it('a service that cannot be reached for hours is the fault of no record, and is read as soon as it is back', async () => {
  const newest = () => records<{ at: number }>('SELECT max(fetched_at) AS at FROM _record')[0]?.at ?? 0;
  await harness.sandbox.setReachable('no');
  const before = newest();
  const away = harness.clock.now() + 8 * hour;
  await harness.liveUntil(away);
  // Control: something was due, and not read.
  expect(newest()).toBe(before);
  expect(records('SELECT resource, product_id, failures FROM _record WHERE failures > 0')).toEqual([]);
  await harness.sandbox.setReachable('yes');
  await harness.liveUntil(away + hour);
  expect(newest()).toBeGreaterThan(away);
});
