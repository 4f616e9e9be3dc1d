import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { makeBackup } from '../../src/files/backup/make.ts';
import { restoreBackup } from '../../src/files/backup/restore.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { limitOf } from '../../src/trust/claims.rules.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;

/** Has every date read again within half an hour. */
async function readDates(harness: VirtualHarness, ms = 30 * minute): Promise<void> {
  requestResync(harness.daemon.sync, { resources: ['availability'], product_ids: [], from: null, to: null });
  await harness.live(ms);
}

async function lie(harness: VirtualHarness, ...faults: readonly FaultRule[]): Promise<void> {
  for (const fault of faults) harness.sandbox.faults.add(fault);
  await readDates(harness);
}

/** Bookable days of some weeks by whether the product's number is even, with how many are stale and their lowest price. */
function bookable(harness: VirtualHarness) {
  const [from, to] = ['2026-11-24', '2026-12-31'];
  const rows = harness.rows<{ even: number; days: number; stale: number; price: number }>(
    `SELECT product_id % 2 = 0 AS even, count(*) AS days, sum(stale) AS stale, min(lowest_price) AS price
     FROM bookable_days WHERE date BETWEEN ? AND ? GROUP BY 1`,
    from,
    to,
  );
  const of = (is: number) => rows.find(({ even }) => even === is) ?? { even: is, days: 0, stale: 0, price: null };
  return { even: of(1), odd: of(0), days: rows.reduce((sum, { days }) => sum + days, 0) };
}

const held = ({ held }: VirtualHarness) => held().map(({ subject, state, since }) => ({ subject, state, since }));
const statesOf = (harness: VirtualHarness) => held(harness).map(({ subject, state }) => `${subject} ${state}`);

const emptyForEven: FaultRule = { kind: 'no-dates', path: '/\\d*[02468]/availability' };
const centForOdd: FaultRule = { kind: 'prices', amount: 0.01, path: '/\\d*[13579]/availability' };

describe('two kinds that are held at once', () => {
  it('are kept, believed and rejected apart, and end apart', async () => {
    await using harness = await filledHarness({ products: 30, lean: true });
    const before = bookable(harness);
    await lie(harness, emptyForEven, centForOdd);
    expect(statesOf(harness)).toEqual(expect.arrayContaining(['near-dates held', 'near-prices held']));
    const during = bookable(harness);
    expect([during.even.days, during.odd.days]).toEqual([before.even.days, before.odd.days]);
    expect([during.even.stale, during.odd.stale]).toEqual([before.even.days, before.odd.days]);
    expect(during.odd.price).toBe(before.odd.price);

    // "Less" is believed: prices are still held.
    harness.daemon.sync.evidence.decide('less', 'approved');
    await readDates(harness);
    expect(bookable(harness)).toMatchObject({ even: { days: 0 }, odd: { ...during.odd } });
    harness.daemon.sync.evidence.decide('price', 'rejected');
    await readDates(harness, 2 * hour);
    expect(bookable(harness)).toMatchObject({ even: { days: 0 }, odd: { ...during.odd } });

    harness.sandbox.faults.clear();
    await readDates(harness, 6 * hour);
    // What was approved is good for a day, and nothing claims it.
    const left = harness.held().map(({ decision, claiming }) => ({ decision, claiming }));
    expect(left).toEqual(left.map(() => ({ decision: 'approved', claiming: 0 })));
    expect(bookable(harness)).toMatchObject({ even: { days: before.even.days, stale: 0 }, odd: { stale: 0 } });
    expect(bookable(harness).odd.price).toBe(before.odd.price);
  });
});

/** Puts the daemon out of its life in the middle of a hold. */
type Break = (harness: VirtualHarness) => Promise<void>;

const restarted: Break = (harness) => harness.restart();

/** Its files as they lay on the disk at that instant: nothing was closed, and the log was not copied into the file. */
const killed: Break = async (harness) => {
  const { mirror } = harness.daemon.config;
  using kept = temporaryDirectory();
  const places = [join(mirror.path, '..'), mirror.state_dir];
  places.forEach((from, place) => void cpSync(from, join(kept.path, String(place)), { recursive: true, filter }));
  await harness.restart({
    meanwhile: async () => {
      places.forEach((to, place) => {
        rmSync(to, { recursive: true });
        cpSync(join(kept.path, String(place)), to, { recursive: true });
      });
    },
  });
};
/** A socket cannot be copied. */
const filter = (path: string) => !path.endsWith('.sock');

/** An hour passes, and the host gets what was backed up in the middle of the hold. */
const restored: Break = async (harness) => {
  const { config } = harness.daemon;
  const { mirror, backup: settings } = config;
  const { backup } = makeBackup({
    mirror: mirror.path,
    inbox: mirror.inbox_path,
    directory: settings.directory,
    why: 'asked',
    made_by: 'catalogued test',
    now: harness.clock.now(),
  });
  await harness.live(hour);
  await harness.restart({
    meanwhile: async () => void restoreBackup(config, backup, { now: harness.clock.now(), dry: false }),
  });
};

describe('a hold goes on', () => {
  const breaks = { 'a restart': restarted, 'a kill': killed, 'a restored backup': restored };
  const names = Object.keys(breaks) as (keyof typeof breaks)[];

  it.each(names)('over %s, and ends when the service takes it back', async (name) => {
    await using harness = await filledHarness({ products: 24, lean: true });
    const before = bookable(harness);
    await lie(harness, { kind: 'no-dates' });
    const [shown, known] = [bookable(harness), held(harness)];
    expect(shown.days).toBe(before.days);
    await breaks[name](harness);
    expect(held(harness)).toEqual(known);
    expect(bookable(harness)).toEqual(shown);
    await harness.live(hour);
    expect(bookable(harness).days).toBe(before.days);
    harness.sandbox.faults.clear();
    await harness.live(8 * hour);
    expect(held(harness)).toEqual([]);
    expect(bookable(harness)).toMatchObject({ days: before.days, even: { stale: 0 }, odd: { stale: 0 } });
  });

  it.each(names)('over %s, and is believed three hours after it began', async (name) => {
    await using harness = await filledHarness({ products: 24, lean: true });
    const before = bookable(harness);
    await lie(harness, { kind: 'no-dates' });
    const since = Math.min(...held(harness).map((each) => each.since));
    await harness.liveUntil(since + hour);
    await breaks[name](harness);
    await harness.liveUntil(since + 3 * hour - minute);
    expect(bookable(harness).days).toBe(before.days);
    await harness.liveUntil(since + 8 * hour);
    expect(bookable(harness).days).toBe(0);
  });
});

describe('claims that come and go each minute', () => {
  it('never show more products without dates than the limit, and make one hold of each kind', async () => {
    const halfHour = { every: '30m' };
    const cadence = { availability: { near: halfHour, middle: halfHour, far: halfHour } };
    await using harness = await filledHarness({ products: 40, lean: true }, { cadence }, { level: 'info' });
    const productsShown = () => harness.rows('SELECT DISTINCT product_id FROM bookable_days').length;
    const before = productsShown();
    harness.sandbox.faults.add({ kind: 'no-dates', flap_ms: minute });
    const least: number[] = [];
    for (let time = 0; time < 12; time += 1) {
      await harness.live(20 * minute);
      least.push(productsShown());
    }
    expect(Math.min(...least)).toBeGreaterThanOrEqual(before - limitOf(before));
    const opened = harness.log.lines().filter(({ msg }) => String(msg).startsWith('too many records claim the same'));
    process.stdout.write(`${before} products, at least ${Math.min(...least)} shown; ${opened.length} holds opened\n`);
    expect(opened.length).toBeLessThanOrEqual(4);

    harness.sandbox.faults.clear();
    await harness.live(2 * hour);
    expect(held(harness)).toEqual([]);
    expect(productsShown()).toBe(before);
  });
});

describe('claims that begin while the first fill runs', () => {
  it('take nothing away of what it has read, and what it finds empty is asked again half an hour later', async () => {
    await using harness = await virtualHarness({ products: 24, lean: true });
    const { mirror } = harness.daemon;
    const daysRead = () => bookable(harness).days;
    await harness.runUntil(() => mirror.catalogue.products.count() === 24 && daysRead() > 50);
    const before = bookable(harness);
    harness.sandbox.faults.add({ kind: 'no-dates' });
    await harness.fill();
    expect(bookable(harness).days).toBeGreaterThanOrEqual(before.days);
    await readDates(harness, 20 * minute);
    expect(bookable(harness).days).toBeGreaterThanOrEqual(before.days);
    harness.sandbox.faults.clear();
    await harness.live(hour);
    await readDates(harness, 3 * hour);
    expect(held(harness)).toEqual([]);
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
  });

  it('and answer everything as empty leave the mirror unfilled until they end', async () => {
    await using harness = await virtualHarness({ products: 12, lean: true });
    harness.sandbox.faults.add({ kind: 'no-dates' });
    await harness.live(3 * hour);
    expect(harness.isFilled()).toBe(false);
    harness.sandbox.faults.clear();
    await harness.live(2 * hour);
    expect(harness.isFilled()).toBe(true);
    expect(bookable(harness).days).toBeGreaterThan(20);
  });
});
