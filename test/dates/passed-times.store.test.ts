import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { repriceDates } from '../../src/cycle/chores.ts';
import type { DayForm, Timeslot } from '../../src/dates/availability.rules.ts';
import { slotTime, summarise } from '../../src/dates/availability.rules.ts';
import { hasPassed, withoutPassed } from '../../src/dates/passed-times.rules.ts';
import { nothingPrinted, type PricedStretch, printedOn } from '../../src/dates/printed-price.rules.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import type { Database } from '../../src/kernel/sqlite/database-file.ts';
import { addDays, datesBetween, venueToday } from '../../src/kernel/time/venue.ts';
import { minutesPassed } from '../../src/kernel/time/venue-clock.ts';
import { openMirrorAt, openMirrorWithClock } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';
import { thorough } from '../fakes/thorough.ts';

const hour = 3_600_000;
const near = { days: 14, every: 6 * hour };
const tiers = { horizon: 92, near, middle: { days: 31, every: 12 * hour }, far: { every: 24 * hour } };

const slot = (time: number | string, price: number | null, places: number | null = 5): Timeslot => [
  time,
  places,
  [
    [1, places, price],
    [2, 3, price === null ? null : price + 700],
  ],
];

/** Forms of every kind that a time can pass in. None names a time zone: that of the product counts. */
const forms: Readonly<Record<string, DayForm>> = {
  'one time': [5, null, [slot(540, 900)]],
  'times from midnight to midnight': [
    20,
    null,
    [slot(0, 500), slot(90, 800), slot(150, 900), slot(540, 1500), slot(1439, 700)],
  ],
  'a whole day beside a time': [8, null, [slot(150, 900), slot(-1, 2500, 3)]],
  'a word of the service': [5, null, [slot(540, 900), ['evening', 2, [[1, 2, 4000]]]]],
  'the last time sold out': [5, null, [slot(150, 900), slot(1290, 900, 0)]],
  'free, and then not': [10, null, [slot(150, 0), slot(600, 0), slot(1200, 900)]],
  'no counts and no prices': [null, null, [slot(150, null, null), slot(600, null, null)]],
  'sold out as a whole': [0, null, [slot(150, 900), slot(600, 900)]],
  'no times at all': [4, null, []],
};
const names = Object.keys(forms);

/** The first variant is an adult's, the second a child's; of every third product neither is. */
const typesOf = (product_id: number) =>
  new Map([
    [1, product_id % 3 === 0 ? 'group' : 'adult'],
    [2, product_id % 3 === 0 ? 'group' : 'child'],
  ]);

const zones = [
  'Europe/Amsterdam',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  null,
];

/** A product a form, all in one zone, each with the same form on every date around an instant. */
function stored(zone: string | null, now: number): TestMirror & { readonly dates: readonly string[] } {
  const test = testMirror();
  putProducts(
    test,
    names.map((_, index) => productOf(index + 1, { timezone: zone })),
    { sent_at: now },
  );
  const { earliest: today, latest } = venueToday(zone, now);
  const dates = datesBetween(today, addDays(latest, 2));
  test.mirror.transaction(() => {
    for (const [index, name] of names.entries()) {
      test.mirror.catalogue.variants.store(
        { source: 'variants', product_id: index + 1, language: 'en', sent_at: instant(now), stale_at: instant(now), reason: 'cadence-elapsed' },
        [...typesOf(index + 1)].map(([variant_id, variant_type]) => ({ variant_id, document: JSON.stringify({ variant_type }) })),
        new Set(),
      ); // biome-ignore format: one answer
      test.mirror.catalogue.availability.store(
        { product_id: index + 1, currency: 'EUR', from: today, sent_at: instant(now), now: instant(now), hash: 'h', today, tiers, reason: 'cadence-elapsed', readBefore: false },
        {
          sales_enabled: true, covered_to: dates.at(-1) ?? today, named: null, max_tickets_per_order: null, variants: [], groups: [], rest: {},
          days: new Map(dates.map((date) => [date, forms[name] as DayForm])),
        },
      ); // biome-ignore format: one answer
    }
  });
  return { ...test, dates };
}

/** What the views have to say at an instant, by the rule of the domain. */
function expected(zone: string | null, dates: readonly string[], now: number) {
  const rows = names.flatMap((name, index) =>
    dates.flatMap((date) => {
      const minute = minutesPassed(zone, date, now);
      if (minute === 1440) return [];
      const whole = forms[name] as DayForm;
      const left = withoutPassed(whole, minute);
      const { available, ...summary } = summarise(left);
      const isOver = left[2].length === 0 && whole[2].length > 0;
      const state = isOver ? 'not_on_sale' : available ? 'available' : 'sold_out';
      const printed = state === 'available' ? printedOn(left, typesOf(index + 1)) : nothingPrinted;
      return [{ product_id: index + 1, date, state, ...summary, ...printed, left }];
    }),
  );
  const bookable = rows
    .filter(({ state }) => state === 'available')
    .map(({ state: _, availability: __, left: ___, ...row }) => row);
  return {
    days: rows.map(({ left: _, ...row }) => row),
    bookable,
    products: names.map((_, index) => leastOf(bookable.filter(({ product_id }) => product_id === index + 1))),
    slots: rows.flatMap(({ product_id, date, left }) =>
      left[2].flatMap(([time, , offers]) =>
        offers.map(([variant_id]) => ({ product_id, date, time: slotTime(time), variant_id })),
      ),
    ),
  };
}

type Priced = Pick<PricedStretch, 'lowest_price' | 'lowest_adult_price' | 'price_variant_type'>;

/** The least over dates that are all for one type. */
function leastOf(dates: readonly Priced[]): Priced {
  const least = (prices: readonly (number | null)[]) => {
    const known = prices.filter((price) => price !== null);
    return known.length === 0 ? null : Math.min(...known);
  };
  return {
    lowest_price: least(dates.map(({ lowest_price }) => lowest_price)),
    lowest_adult_price: least(dates.map(({ lowest_adult_price }) => lowest_adult_price)),
    price_variant_type: dates.find(({ price_variant_type }) => price_variant_type !== null)?.price_variant_type ?? null,
  };
}

function shownBy(db: Database) {
  const all = (sql: string) => db.prepare(sql).all() as object[];
  return {
    days: all(
      'SELECT product_id, date, state, lowest_price, lowest_adult_price, price_variant_type, max_tickets, availability FROM availability_days ORDER BY 1, 2',
    ),
    bookable: all(
      'SELECT product_id, date, lowest_price, lowest_adult_price, price_variant_type, max_tickets FROM bookable_days ORDER BY 1, 2',
    ),
    products: all('SELECT lowest_price, lowest_adult_price, price_variant_type FROM products ORDER BY product_id'),
    slots: all('SELECT product_id, date, time, variant_id FROM availability_slots'),
  };
}

function shown(path: string, now: number) {
  const db = openMirrorAt(path, now);
  const found = shownBy(db);
  db.close();
  return found;
}

const bySlot = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort();

/** Every quarter of an hour of the days around an instant, or some of them, and what is just before and after it. */
function instantsAround(middle: number): number[] {
  const step = thorough ? 15 : 155;
  const grid = Array.from({ length: Math.floor((33 * 60) / step) }, (_, index) => index * step - 13 * 60);
  const minutes = [...grid, -61, -60, -31, -30, -1, 0, 1, 29, 30, 59, 60, 61].sort((a, b) => a - b);
  return minutes.map((each) => middle + each * 60_000);
}

describe('the views leave out just what has begun at the venue, around clock changes and on a plain day:', () => {
  const days = ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z', '2026-04-04T15:00:00Z', '2026-11-21T12:00:00Z'];
  it.each(zones.flatMap((zone) => days.map((day) => [zone, day] as const)))('in %s around %s', (zone, day) => {
    const middle = Date.parse(day);
    using test = stored(zone, middle - 14 * hour);
    const { db, set } = openMirrorWithClock(test.mirror.path);
    let passed = 0;
    for (const now of instantsAround(middle)) {
      set(now);
      const wanted = expected(zone, test.dates, now);
      const found = shownBy(db);
      const at = new Date(now).toISOString();
      expect(found.days, at).toEqual(wanted.days);
      expect(found.bookable, at).toEqual(wanted.bookable);
      expect(found.products, at).toEqual(wanted.products);
      expect(bySlot(found.slots), at).toEqual(bySlot(wanted.slots));
      if (wanted.days.some(({ state }) => state === 'not_on_sale')) passed += 1;
    }
    db.close();
    // The control: there was something to leave out.
    expect(passed).toBeGreaterThan(5);
  });
});

describe('a date', () => {
  it('is told by another clock when its product turns out to be elsewhere', async () => {
    const now = Date.parse('2026-11-21T12:00:00Z');
    using test = stored('Asia/Kolkata', now);
    putProducts(
      test,
      names.map((_, index) => productOf(index + 1, { timezone: 'America/New_York' })),
      {
        sent_at: now + 1,
      },
    );
    await repriceDates(
      testSync({
        mirror: test.mirror,
        clock: { ...systemClock, now: () => instant(Date.parse('2026-11-21T12:00:00Z')) },
      }),
      new AbortController().signal,
    );
    const at = Date.parse('2026-11-22T13:00:00Z');
    expect(shown(test.mirror.path, at).bookable).toEqual(expected('America/New_York', test.dates, at).bookable);
  });
});

it('SQLite 3.40 shows what ours shows', needs('python3'), () => {
  // By the machine's own clock: times that surely have passed, and such as surely have not.
  using test = stored('Pacific/Kiritimati', Date.now());
  const sql = (view: string) => `SELECT * FROM ${view} ORDER BY 1, 2, 3, 4, 5`;
  const script = `
import json, sqlite3, sys
db = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
print(json.dumps([sqlite3.sqlite_version] + [db.execute(sql).fetchall() for sql in sys.argv[2:]]))`;
  const views = ['availability_days', 'bookable_days', 'availability_slots'].map(sql);
  for (let again = 0; ; again += 1) {
    const ours = views.map((each) => test.reader.prepare(each).raw().all());
    const [version, ...theirs] = JSON.parse(
      execFileSync('python3', ['-c', script, test.mirror.path, ...views], { encoding: 'utf8' }),
    );
    const after = views.map((each) => test.reader.prepare(each).raw().all());
    // A minute may have passed between the two.
    if (JSON.stringify(ours) !== JSON.stringify(after) && again < 3) continue;
    expect(version).toMatch(/^3\./);
    expect(theirs).toEqual(ours);
    expect(ours.every((rows) => rows.length > 0)).toBe(true);
    break;
  }
});

it('the rule of passed times is looked at by a test that would see a breach (control)', () => {
  expect(hasPassed(540, 541)).toBe(true);
  using test = stored('UTC', Date.parse('2026-11-21T00:00:00Z'));
  const at = Date.parse('2026-11-21T12:00:00Z');
  const midnight = expected('UTC', test.dates, Date.parse('2026-11-21T00:00:00Z'));
  expect(shown(test.mirror.path, at).days).not.toEqual(midnight.days);
});
