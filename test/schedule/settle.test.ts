import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { notOnSale } from '../../src/dates/off-sale-answer.ts';
import { instant } from '../../src/kernel/clock.ts';
import { contradictedReread } from '../../src/push/off-sale.rules.ts';
import { recordFailure, settleStored, settleUnstored } from '../../src/schedule/next-read.ts';
import { ReadLane } from '../../src/schedule/sync.ts';
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

it('a queued record is read as it is when its turn comes', async () => {
  const during: (() => void)[] = [];
  await using at = await filledHarness(
    { products: 2, lean: true, served: () => during.pop()?.() },
    { scheduling: 'fixed' },
  );
  const { sync, mirror } = at.daemon;
  const { records } = mirror.schedule;
  const now = at.clock.now();
  const [first, queued] = plannedDates(sync).map(({ record }) => record);
  if (first === undefined || queued === undefined) throw new Error('no two records');
  mirror.transaction(() => {
    records.setDue(first, { at: instant(now - 2), reason: 'cadence-elapsed' });
    records.setDue(queued, { at: instant(now - 1), reason: 'likely-changed' });
  });
  during.push(() => mirror.transaction(() => records.notify([queued.product_id], now, now)));
  await at.drive(runSyncCycle(sync, 1, { job_id: null, signal: new AbortController().signal }));
  expect(records.find(queued)?.fetched_at).toBeGreaterThanOrEqual(now);
});

it('an off-sale answer that a later one has overtaken withholds no dates', async () => {
  const { sync } = harness.daemon;
  const lane = new ReadLane(sync, 'checkout', async (work) => sync.mirror.transaction(work));
  const [sent_at, later] = [instant(harness.clock.now() + 1), instant(harness.clock.now() + 2)];
  const window = { from: '2026-11-21', to: '2026-12-21', every: hour };
  for (const { record } of plannedDates(sync)) {
    const read = { sent_at: later, changed: false, body_hash: null, cadence: hour };
    sync.mirror.transaction(() => settleStored(sync, record, read));
    await notOnSale(lane, { ...record, due_reason: 'live-check' }, { sent_at, window, late: () => {} });
  }
  expect(records("SELECT kind FROM changes WHERE kind = 'dates_withheld'")).toEqual([]);
});

describe.each(['is held', 'fails'])('what comes during a read whose answer %s', (how) => {
  it.each(['notified', 'requested'])('is not answered by it: %s', async (reason) => {
    await harness.clock.advance(hour);
    const { sync, mirror } = harness.daemon;
    const sent_at = harness.clock.now();
    const [{ record } = { record: null }] = plannedDates(sync);
    if (record === null) throw new Error('no record');
    const product_ids = [record.product_id];
    if (reason === 'notified') mirror.transaction(() => mirror.schedule.records.notify(product_ids, sent_at, sent_at));
    else requestResync(sync, { resources: ['availability'], product_ids, from: null, to: null });
    if (how === 'fails') recordFailure(sync, { ...record, failures: 5 }, { code: '', message: '', final: false });
    else mirror.transaction(() => settleUnstored(sync, record, { sent_at, cadence: 6 * hour, due: null }));
    expect(mirror.schedule.records.find(record)).toMatchObject({ due_reason: reason });
    expect(mirror.schedule.records.find(record)?.due_at).toBeLessThanOrEqual(sent_at + minute);
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
