import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { bookableDays, readAgain } from '../fakes/shown-rows.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;

const empty = '{"success":true,"sales_enabled":true,"dates":[],"variants":[],"groups":[]}';

/** From now on every availability is answered empty, and all of it is read again. */
async function emptied(harness: VirtualHarness): Promise<void> {
  harness.sandbox.faults.add({ kind: 'status', status: 200, path: '/availability', body: empty });
  await readAgain(harness, ['availability']);
}

const held = ({ held }: VirtualHarness) => held().map(({ subject, state }) => `${subject} ${state}`);

describe('dates that are all answered empty', () => {
  it('are held: shown as they were, as stale, and told to the feed once a product and kind', async () => {
    await using harness = await filledHarness({ products: 24 });
    const before = bookableDays(harness);
    expect(before).toMatchObject({ days: expect.any(Number), stale: 0 });
    await emptied(harness);
    expect(held(harness)).toContain('near-dates held');
    const after = bookableDays(harness);
    // At most the limit is shown wrong.
    expect(after.days).toBeGreaterThan(before.days / 2);
    expect(after.stale).toBeGreaterThan(0.9 * after.days);
    // What a check says of the mirror is what readers see.
    const days = harness.rows<{ product_id: number; date: string; stale: 0 | 1 }>(
      'SELECT product_id, date, stale FROM bookable_days',
    );
    const { checks } = harness.daemon.mirror;
    const isStale = ({ product_id, date }: (typeof days)[number]) =>
      (checks.date(product_id, 'EUR', date)?.stale_at ?? 0) <= harness.clock.now();
    expect(days.filter((day) => isStale(day) !== (day.stale === 1))).toEqual([]);
    const told = harness.rows<{ times: number }>(
      "SELECT count(*) AS times FROM changes WHERE kind = 'held' GROUP BY product_id, detail",
    );
    expect(told.length).toBeGreaterThan(5);
    expect(new Set(told.map(({ times }) => times))).toEqual(new Set([1]));

    harness.sandbox.faults.clear();
    await harness.live(12 * hour);
    expect(held(harness)).toEqual([]);
    expect(bookableDays(harness)?.days).toBeGreaterThan(0.9 * before.days);
  });

  it('are kept for a day by a rejection, and believed after it, as if nobody had decided', async () => {
    await using harness = await filledHarness({ products: 24, lean: true });
    await emptied(harness);
    const shown = bookableDays(harness)?.days;
    expect(harness.daemon.sync.evidence.decide('near-dates', 'rejected')).toEqual(['near-dates']);
    const rejected_at = harness.clock.now();
    await harness.liveUntil(rejected_at + 23 * hour);
    expect(held(harness)).toContain('near-dates held');
    expect(shown).toBeGreaterThan(0);
    await harness.liveUntil(rejected_at + 27 * hour);
    expect(held(harness)).toContain('near-dates ended');
    expect(bookableDays(harness)?.days).toBe(0);
  });
});

describe('windows that are all answered as not on sale', () => {
  it('take the dates of no more products than the limit, whichever window of a product was asked first', async () => {
    await using harness = await filledHarness({ products: 40, lean: true });
    const day = (ahead: number) => new Date(harness.clock.now() + ahead * 24 * hour).toISOString().slice(0, 10);
    const soon = `SELECT DISTINCT product_id FROM bookable_days WHERE date BETWEEN '${day(2)}' AND '${day(14)}' ORDER BY product_id`;
    const shown = () => harness.rows<{ product_id: number }>(soon).map(({ product_id }) => product_id);
    const before = shown();
    harness.sandbox.faults.add({ kind: 'off-sale', path: `/(${before.slice(0, 10).join('|')})/availability` });
    const askAgain = async (product_ids: readonly number[], from: string, to: string) => {
      requestResync(harness.daemon.sync, { resources: ['availability'], product_ids, from, to });
      await harness.live(hour);
    };
    await askAgain(before.slice(0, 5), day(40), day(60));
    expect(shown()).toEqual(before.slice(5));
    await askAgain(before.slice(5, 10), day(0), day(14));
    expect(shown()).toEqual(before.slice(5));
    expect(held(harness)).toContain('near-dates held');
  });
});
