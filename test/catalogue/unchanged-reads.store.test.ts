import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { refreshCheckoutInformation, refreshVariants } from '../../src/catalogue/product.ask.ts';
import { walkProducts } from '../../src/catalogue/walk-products.ask.ts';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { notOnSale } from '../../src/dates/off-sale-answer.ts';
import { instant } from '../../src/kernel/clock.ts';
import { recordFailure, settleStored, settleUnstored } from '../../src/schedule/next-read.ts';
import { walkKinds } from '../../src/schedule/record.rules.ts';
import { ReadLane } from '../../src/schedule/sync.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { plannedDates } from '../mirror/planned-dates.ts';

const minute = 60_000;
const hour = 60 * minute;
const frame = 24 + 4096;

/** Counts the bytes of the write-ahead log, and its commits: frames that name the size of the file after them. */
function logOf({ daemon }: VirtualHarness): { bytes: number; commits: number } {
  const wal = readFileSync(`${daemon.config.mirror.path}-wal`);
  const salt = wal.subarray(16, 24);
  let commits = 0;
  let at = 32;
  // Frames of an earlier round of the log have other salts.
  for (; at + frame <= wal.length && wal.subarray(at + 8, at + 16).equals(salt); at += frame)
    if (wal.readUInt32BE(at + 4) > 0) commits += 1;
  return { bytes: at, commits };
}

async function readAllDates(harness: VirtualHarness): Promise<{ reads: number; commits: number }> {
  const { daemon, sandbox } = harness;
  const { calls } = sandbox.calls.counts();
  requestResync(daemon.sync, { resources: ['availability'], product_ids: [], from: null, to: null });
  const before = logOf(harness).commits;
  const never = new AbortController().signal;
  const { failed } = await harness.drive(runSyncCycle(daemon.sync, 4, { job_id: null, signal: never }));
  expect(failed).toBe(0);
  return { reads: sandbox.calls.counts().calls - calls, commits: logOf(harness).commits - before };
}

it('reads are stored several at a time, those that find nothing changed many', async () => {
  await using harness = await filledHarness({ products: 20, counts: 'none' });
  const same = await readAllDates(harness);
  expect(same.reads).toBeGreaterThan(40);
  expect(same.commits).toBeLessThan(same.reads / 10);
  expect((await harness.compare()).first).toEqual([]);

  // Each that changes something takes a while, in which nothing else is done: not many of those.
  for (const product of harness.sandbox.products()) product.price += 100;
  const changed = await readAllDates(harness);
  expect(changed.commits).toBeLessThan(changed.reads / 3);
  expect(changed.commits).toBeGreaterThan(changed.reads / 10);
});

it('a walk of the list in which nothing has changed writes at most 0.7 KiB of log a product, one that finds other prices more', async () => {
  await using harness = await virtualHarness({ products: 250, counts: 'none' });
  const { sync, mirror } = harness.daemon;
  const walked = async () => {
    mirror.transaction(() => mirror.schedule.records.createWalk(walkKinds(sync.policy.extent).primary));
    const record = mirror.schedule.records.find({ ...walkKinds(sync.policy.extent).primary, product_id: 0 });
    if (record === null) throw new Error('the list is not among the records');
    const lane = new ReadLane(sync, 'weekly', async (work) => mirror.transaction(work));
    const before = logOf(harness).bytes;
    const read = await harness.drive(walkProducts(lane, record, new AbortController().signal));
    expect(read).toMatchObject({ kind: 'stored' });
    return (logOf(harness).bytes - before) / 250;
  };
  await walked();
  expect(await walked()).toBeLessThan(0.7 * 1024);
  for (const product of harness.sandbox.products()) product.price += 100;
  expect(await walked()).toBeGreaterThan(0.7 * 1024);
});

it('an answer that repeats what the mirror no longer has confirms nothing', async () => {
  await using harness = await filledHarness({ products: 1 });
  const { sync, mirror } = harness.daemon;
  const { records } = mirror.schedule;
  for (const record of harness.products().flatMap((id) => records.ofProduct(id))) {
    const lane = new ReadLane(sync, 'weekly', async (work) => {
      mirror.transaction(() => records.forgetBody(record));
      return mirror.transaction(work);
    });
    const { signal } = new AbortController();
    if (record.resource === 'variants') await harness.drive(refreshVariants(lane, record, signal));
    else if (record.resource !== 'checkout_information') continue;
    else await harness.drive(refreshCheckoutInformation(lane, record, signal));
    expect(records.find(record)).toMatchObject({ body_hash: null, fetched_at: record.fetched_at });
  }
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
  await using harness = await filledHarness({ products: 2, lean: true });
  const { sync } = harness.daemon;
  const lane = new ReadLane(sync, 'checkout', async (work) => sync.mirror.transaction(work));
  const [sent_at, later] = [instant(harness.clock.now() + 1), instant(harness.clock.now() + 2)];
  const window = { from: '2026-11-21', to: '2026-12-21', every: hour };
  for (const { record } of plannedDates(sync)) {
    const read = { sent_at: later, changed: false, body_hash: null, cadence: hour };
    sync.mirror.transaction(() => settleStored(sync, record, read));
    await notOnSale(lane, { ...record, due_reason: 'live-check' }, { sent_at, window, late: () => {} });
  }
  expect(harness.rows("SELECT kind FROM changes WHERE kind = 'dates_withheld'")).toEqual([]);
});

describe.each(['is held', 'fails'])('what comes during a read whose answer %s', (how) => {
  it.each(['notified', 'requested'])('is not answered by it: %s', async (reason) => {
    await using harness = await filledHarness({ products: 2, lean: true });
    await harness.clock.advance(minute);
    const { sync, mirror } = harness.daemon;
    const sent_at = harness.clock.now();
    const [{ record } = { record: null }] = plannedDates(sync);
    if (record === null) throw new Error('no record');
    const product_ids = [record.product_id];
    if (reason === 'notified') mirror.transaction(() => mirror.schedule.records.notify(product_ids, sent_at, sent_at));
    else requestResync(sync, { resources: ['availability'], product_ids, from: null, to: null });
    if (how === 'fails') recordFailure(sync, { ...record, failures: 5 }, { code: '', message: '', final: false });
    else mirror.transaction(() => settleUnstored(sync, record, { sent_at, cadence: hour, due: null }));
    expect(mirror.schedule.records.find(record)).toMatchObject({ due_reason: reason });
    expect(mirror.schedule.records.find(record)?.due_at).toBeLessThanOrEqual(sent_at + minute);
  });
});
