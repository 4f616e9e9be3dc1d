import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { contradictedReread } from '../../src/push/off-sale.rules.ts';
import { settleStored } from '../../src/schedule/next-read.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { plannedDates } from '../mirror/planned-dates.ts';

const minute = 60_000;
const hour = 60 * minute;
let harness: VirtualHarness;

beforeAll(async () => {
  harness = await filledHarness({ products: 2, lean: true }, { scheduling: 'fixed' });
});
afterAll(() => harness[Symbol.asyncDispose]());

const records = <Row>(sql: string): Row[] => harness.rows(sql);

it('a read is believed as long as its cadence, from when it was asked for', () => {
  const found = records<{ resource: string; hours: number }>(
    `SELECT DISTINCT resource, (stale_at - fetched_at) / ${hour}.0 AS hours FROM _record WHERE fetched_at IS NOT NULL ORDER BY 1, 2`,
  );
  const hours = Object.groupBy(found, ({ resource }) => resource);
  expect(hours.availability?.map((each) => each.hours)).toEqual([6, 24]);
  expect(hours.variants?.map((each) => each.hours)).toEqual([7 * 24]);
});

describe.each([0, 59, 60, 90, 890])('an answer that a cache has had for %i seconds', (age) => {
  const answered = () => {
    const { sync } = harness.daemon;
    const now = harness.clock.now();
    const [{ record } = { record: null }] = plannedDates(sync);
    if (record === null) throw new Error('no record');
    return { sync, now, record, sent_at: instant(now - age * 1000) };
  };

  it('and that contradicts the product, is asked for again within a minute, and not at once', () => {
    const { sync, now, record, sent_at } = answered();
    const sooner = contradictedReread(sent_at, sent_at, 6 * hour);
    const read = {
      sent_at,
      called_at: now,
      changed: false,
      body_hash: null,
      cadence: 6 * hour,
      teaches: 'nothing',
    } as const;
    sync.mirror.transaction(() => settleStored(sync, record, { ...read, off_sale_at: sent_at, sooner }));
    const due = (plannedDates(sync)[0]?.record.due_at ?? 0) - now;
    expect(due).toBeGreaterThan(0);
    expect(due).toBeLessThanOrEqual(minute);
  });

  it('and that takes all dates away, is confirmed a minute after it came', () => {
    const { sync, now, record, sent_at } = answered();
    const claim = { subject: 'near-dates', shown: 5, said: 0 } as const;
    const { evidence } = sync;
    const judge = () => evidence.judge(record, [claim], { sent_at, reason: 'cadence-elapsed' });
    const { next } = sync.mirror.transaction(judge);
    sync.mirror.transaction(() => sync.mirror.evidence.dropProduct({ product_id: record.product_id }));
    expect((next?.at ?? 0) - now).toBeGreaterThanOrEqual(minute);
  });
});

it('a read that a change of another product of the venue brought forward counts as its cost', async () => {
  await using at = await filledHarness({ products: 20, lean: true });
  const { sync } = at.daemon;
  const some = plannedDates(sync).filter(({ record, venue }) => venue !== null && record.fetched_at !== null);
  const venues = [...Map.groupBy(some, ({ venue }) => venue).values()];
  const [first, second] = venues.find((products) => products.length > 1) ?? [];
  if (first === undefined || second === undefined) throw new Error('no two products of a venue');
  const sent_at = instant(at.clock.now() + hour);
  const read = { sent_at, body_hash: null, cadence: 6 * hour };
  const early = { ...second.record, due_reason: 'likely-changed' } as const;
  sync.mirror.transaction(() => {
    settleStored(sync, first.record, { ...read, changed: true, product: first.product });
    expect(sync.siblings.takeSpent(sent_at)).toBe(0);
    settleStored(sync, early, { ...read, changed: false, product: second.product, current: early });
  });
  expect(sync.siblings.takeSpent(sent_at + hour)).toBeGreaterThan(0);
});
