import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import type { AvailabilityAnswer, DayForm, Tiers } from '../../src/dates/availability.rules.ts';
import type { AnswerMeta } from '../../src/dates/availability.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import { addDays } from '../../src/kernel/time/venue.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { tiers } from './usual-tiers.ts';

const hour = 3_600_000;
const now = instant(Date.now());
const today = new Date(now).toISOString().slice(0, 10);
const day = (offset: number) => addDays(today, offset);

const product: ProductEntry = {
  product_id: 7, title: 'Tower', tagline: null, sale_status: 'enabled', disabled_reason: null, expected_reopening: null, from_price: 900,
  city_id: 1, city_name: 'A', country_id: 1, country_name: 'B', venue_id: 5, latitude: 1, longitude: 2, timezone: 'UTC', rating: 4.5,
  tag_ids: [], images: [], document: '{"id":"7"}',
}; // biome-ignore format: one product

function put(test: TestMirror, entry: Partial<ProductEntry> = {}): void {
  const primary = { language: 'en', currency: 'EUR' };
  test.mirror.transaction(() => {
    test.mirror.catalogue.products.store(
      { ...product, ...entry },
      {
        source: 'list',
        reason: 'never-fetched',
        ...primary,
        primary,
        sent_at: now,
        now,
        stale_at: instant(now + hour),
      },
    );
  });
}

function form(price: number, availability = 5): DayForm {
  return [
    availability,
    'UTC',
    [
      [1439, availability, [[1, 4, price, price - 100, 100]]],
      [-1, 2, [[2, 2, price + 500]]],
    ],
  ];
}

function answer(days: Record<number, DayForm>, covered_to: string): AvailabilityAnswer {
  return {
    sales_enabled: true,
    covered_to,
    named: null,
    max_tickets_per_order: 20,
    days: new Map(Object.entries(days).map(([offset, each]) => [day(Number(offset)), each])),
    variants: [{ variant_id: 1, document: '{"id":1,"label":"Adult"}' }],
    groups: [],
    rest: {},
  };
}

interface Read {
  readonly from: number;
  readonly sent_at?: number;
  readonly hash?: string;
}

const readOf = ({ from, sent_at = now, hash = 'h1' }: Read): AnswerMeta => ({
  ...{ product_id: 7, currency: 'EUR', from: day(from), sent_at: instant(sent_at), now, hash, today, tiers },
  ...{ reason: 'cadence-elapsed', readBefore: false },
});

function store(test: TestMirror, read: Read, given: AvailabilityAnswer): number {
  const { changed, added } = test.mirror.transaction(() =>
    test.mirror.catalogue.availability.store(readOf(read), given),
  );
  return changed + added;
}

it('a covered date without tickets is sold out, one never fetched has no row', () => {
  using test = testMirror();
  put(test);
  store(test, { from: 0 }, answer({ 0: form(1850), 2: form(900) }, day(2)));
  expect(
    test.all(
      'SELECT date, state, lowest_price, max_tickets, availability, max_tickets_per_order, stale FROM availability_days',
    ),
  ).toEqual([
    {
      date: day(0),
      state: 'available',
      lowest_price: 1850,
      max_tickets: 4,
      availability: 5,
      max_tickets_per_order: 20,
      stale: 0,
    },
    {
      date: day(1),
      state: 'sold_out',
      lowest_price: null,
      max_tickets: null,
      availability: null,
      max_tickets_per_order: 20,
      stale: 0,
    },
    {
      date: day(2),
      state: 'available',
      lowest_price: 900,
      max_tickets: 4,
      availability: 5,
      max_tickets_per_order: 20,
      stale: 0,
    },
  ]);
});

it('an answer costs a span a tier, each stale after its own cadence', () => {
  using test = testMirror();
  put(test);
  store(test, { from: 0 }, answer({}, day(30)));
  expect(test.all('SELECT from_date, to_date, stale_at - checked_at AS cadence FROM date_window')).toEqual([
    { from_date: day(0), to_date: day(13), cadence: 6 * hour },
    { from_date: day(14), to_date: day(30), cadence: 12 * hour },
  ]);
  const confirm = (sent_at: number, own: Tiers) =>
    test.mirror.transaction(() =>
      test.mirror.catalogue.availability.confirm({ ...readOf({ from: 0, sent_at }), tiers: own }),
    );
  confirm(now + hour, tiers);
  const stored = () => test.all('SELECT checked_at, stale_at - checked_at AS cadence FROM date_window');
  expect(stored()).toEqual([
    { checked_at: now + hour, cadence: 6 * hour },
    { checked_at: now + hour, cadence: 12 * hour },
  ]);
  // The same answer again does not carry a cadence on that has changed meanwhile.
  confirm(now + 2 * hour, { ...tiers, near: { ...tiers.near, every: 24 * hour } });
  expect(stored()).toEqual([
    { checked_at: now + 2 * hour, cadence: 24 * hour },
    { checked_at: now + 2 * hour, cadence: 12 * hour },
  ]);
});

it('stored dates follow a new cadence of the tier in which they were when they were read', () => {
  using test = testMirror();
  put(test);
  store(test, { from: 0 }, answer({}, day(30)));
  store(test, { from: 2, sent_at: now + 24 * hour, hash: 'h2' }, answer({}, day(3)));
  const own = { ...tiers, near: { ...tiers.near, every: 24 * hour }, middle: { ...tiers.middle, every: 48 * hour } };
  const todayAt = (at: number) => day(Math.floor((at - now) / (24 * hour)));
  test.mirror.transaction(() => test.mirror.catalogue.availability.moveStaleAt(7, own, todayAt));
  expect(test.all('SELECT from_date, stale_at - checked_at AS cadence FROM date_window ORDER BY from_date')).toEqual([
    { from_date: day(0), cadence: 24 * hour },
    { from_date: day(2), cadence: 24 * hour },
    { from_date: day(14), cadence: 48 * hour },
  ]);
});

it('a narrow live check leaves a gap in the window, and a late answer does not overwrite it', () => {
  using test = testMirror();
  put(test);
  store(test, { from: 0 }, answer({ 3: form(900) }, day(10)));
  store(test, { from: 3, sent_at: now + 100, hash: 'live' }, answer({ 3: form(1200) }, day(4)));
  store(test, { from: 0, sent_at: now + 50, hash: 'late' }, answer({ 3: form(500), 5: form(600) }, day(10)));
  expect(test.all('SELECT from_date, to_date, checked_at, body_hash FROM date_window ORDER BY from_date')).toEqual([
    { from_date: day(0), to_date: day(10), checked_at: now + 50, body_hash: 'late' },
    { from_date: day(3), to_date: day(4), checked_at: now + 100, body_hash: 'live' },
  ]);
  const readBy = `SELECT d.date FROM availability_days d WHERE d.checked_at = ${now + 100}`;
  expect(test.all(readBy)).toEqual([{ date: day(3) }, { date: day(4) }]);
  const prices = test.all('SELECT date, lowest_price FROM bookable_days ORDER BY date');
  expect(prices).toEqual([
    { date: day(3), lowest_price: 1200 },
    { date: day(5), lowest_price: 600 },
  ]);
});

/** When each shown date was read, in milliseconds from now. */
const newestReads = (test: TestMirror) =>
  Object.fromEntries(
    test
      .all<{ date: string; checked_at: number }>('SELECT date, checked_at FROM availability_days ORDER BY date')
      .map(({ date, checked_at }) => [date, checked_at - now]),
  );

/** The same of these reads, one after the other: an older one never replaces a newer one. */
function readsOf(all: readonly { from: number; days: number; late: number }[]): Record<string, number> {
  const reads: Record<string, number> = {};
  for (const { from, days, late } of all)
    for (let offset = from; offset <= from + days; offset += 1)
      reads[day(offset)] = Math.max(reads[day(offset)] ?? late, late);
  return reads;
}

it('each date has one row and one window, in whatever order answers come, and no window is without one', () => {
  const reads = fc.array(
    fc.record({ from: fc.nat(40), days: fc.nat(50), late: fc.integer({ min: -3, max: 3 }), empty: fc.boolean() }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(reads, (all) => {
      using test = testMirror();
      put(test);
      for (const { from, days, late, empty } of all)
        store(
          test,
          { from, sent_at: now + late, hash: `${from} ${late}` },
          answer(empty ? {} : { [from]: form(900) }, day(from + days)),
        );
      expect(newestReads(test)).toEqual(readsOf(all));
      expect(
        test.all(
          `SELECT w.window_id FROM date_window w LEFT JOIN day d ON d.window_id = w.window_id
           GROUP BY w.window_id HAVING w.from_date IS NOT min(d.date) OR w.to_date IS NOT max(d.date)`,
        ),
      ).toEqual([]);
    }),
    { numRuns: 12 },
  );
});

it('no day of a product that is not sellable is offered, whatever was stored', () => {
  using test = testMirror();
  put(test);
  store(test, { from: 0 }, answer({ 0: form(900) }, day(1)));
  put(test, { sale_status: 'disabled' });
  expect(test.all('SELECT state FROM availability_days')).toEqual([{ state: 'not_on_sale' }, { state: 'not_on_sale' }]);
  expect(test.all('SELECT * FROM bookable_days')).toEqual([]);
});
