import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { repriceDates } from '../../src/cycle/chores.ts';
import type { DayForm, Offer } from '../../src/dates/availability.rules.ts';
import { instant, systemClock } from '../../src/kernel/clock.ts';
import { addDays } from '../../src/kernel/time/venue.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';

const hour = 3_600_000;
const now = instant(Date.parse('2026-11-21T12:00:00Z'));
const today = '2026-11-21';
const near = { days: 14, every: 6 * hour };
const tiers = { horizon: 92, near, middle: { days: 31, every: 12 * hour }, far: { every: 24 * hour } };

/** Stores one offer list a date, from today on; null: sold out. */
function putDates(test: TestMirror, dates: readonly (readonly Offer[] | null)[], currency = 'EUR'): void {
  const form = (offers: readonly Offer[]): DayForm => [9, 'UTC', [[-1, 9, offers]]];
  const days = dates.flatMap((offers, day): [string, DayForm][] =>
    offers === null ? [] : [[addDays(today, day), form(offers)]],
  );
  test.mirror.transaction(() =>
    test.mirror.catalogue.availability.store(
      { product_id: 7, currency, from: today, sent_at: now, now, hash: 'h', today, tiers, reason: 'cadence-elapsed', readBefore: false },
      {
        sales_enabled: true, covered_to: addDays(today, dates.length - 1), named: null, max_tickets_per_order: null, variants: [],
        groups: [], rest: {}, days: new Map(days),
      },
    ),
  ); // biome-ignore format: one answer
}

/** Stores what one read says of whom the variants are for, the first of them number 1. */
function putTypes(test: TestMirror, source: 'variants' | 'availability', ...types: (string | number | null)[]): void {
  const variants = types.map((variant_type, index) => ({
    variant_id: index + 1,
    document: JSON.stringify({ id: index + 1, variant_type }),
  }));
  const read = {
    source,
    product_id: 7,
    language: 'en',
    sent_at: now,
    stale_at: now,
    now,
    reason: 'cadence-elapsed',
  } as const;
  test.mirror.transaction(() => test.mirror.catalogue.variants.store(read, variants, new Set([1, 2, 3])));
}

function withProduct(given: Parameters<typeof productOf>[1] = {}): TestMirror {
  const test = testMirror();
  putProducts(test, [productOf(7, given)], { sent_at: now });
  return test;
}

function rows(test: TestMirror, sql: string, at = now): unknown[] {
  const db = openMirrorAt(test.mirror.path, at);
  const found = db.prepare(sql).raw().all();
  db.close();
  return found;
}

const printed = 'lowest_price, lowest_adult_price, price_variant_type';
const ofDays = (test: TestMirror) => rows(test, `SELECT ${printed} FROM availability_days ORDER BY date`);
const ofProduct = (test: TestMirror, at = now) => rows(test, `SELECT ${printed} FROM products`, at)[0];

describe('what is printed of stored dates', () => {
  it('rises as dates pass, also while nobody writes', () => {
    using test = withProduct();
    putTypes(test, 'variants', 'adult');
    putDates(test, [[[1, 5, 900]], [[1, 5, 2000]], [[1, 5, 1500]]]);
    const at = [0, 1, 2, 3].map((days) => ofProduct(test, instant(now + days * 24 * hour)));
    expect(at).toEqual([
      [900, 900, 'adult'],
      [1500, 1500, 'adult'],
      [1500, 1500, 'adult'],
      [null, null, null],
    ]);
  });

  it('follows a type that is learned later, or becomes another one, from either read', () => {
    using test = withProduct();
    putDates(test, [
      [
        [1, 5, 900],
        [2, 5, 2000],
      ],
    ]);
    const told = () => rows(test, `SELECT * FROM changes WHERE kind = 'slots_changed'`).length;
    const shown = () => [ofDays(test)[0], ofProduct(test), rows(test, `SELECT ${printed} FROM bookable_days`)[0]];
    const all = (...price: unknown[]) => [price, price, price];
    expect(shown()).toEqual(all(900, 2000, null));
    test.mirror.transaction(() => test.mirror.markFilled(now));
    putTypes(test, 'availability', 'child', 'adult');
    expect(shown()).toEqual(all(900, 2000, 'adult'));
    // The variants read decides, what it does not say availability fills in, and what is no word is not said.
    putTypes(test, 'variants', 'adult', null);
    expect(shown()).toEqual(all(900, 900, 'adult'));
    expect(told()).toBe(2);
    putTypes(test, 'variants', 7, 'senior');
    expect(shown()).toEqual(all(900, 2000, 'senior'));
    // The price is what it was; then the type too.
    putTypes(test, 'variants', 7, 'student');
    expect(shown()).toEqual(all(900, 2000, 'student'));
    putTypes(test, 'variants', 'child', 'student');
    expect(shown()).toEqual(all(900, 2000, 'student'));
    expect(told()).toBe(4);
  });

  it('is priced once, a few products at a time, where dates were stored without prices', async () => {
    using test = withProduct();
    putTypes(test, 'variants', 'adult', 'child');
    putDates(test, [[[2, 5, 900]], [[1, 5, 2000]]]);
    const [days, product] = [ofDays(test), ofProduct(test)];
    const db = new Database(test.mirror.path);
    db.exec(`UPDATE day SET lowest_adult_price = NULL, price_variant_type = NULL; DELETE FROM price;
      INSERT INTO _unpriced SELECT DISTINCT product_id FROM day`);
    db.close();
    expect(ofDays(test)).not.toEqual(days);
    await repriceDates(
      testSync({ mirror: test.mirror, clock: { ...systemClock, now: () => now } }),
      new AbortController().signal,
    );
    expect(ofDays(test)).toEqual(days);
    expect(ofProduct(test)).toEqual(product);
    expect(test.all('SELECT * FROM _unpriced')).toEqual([]);
  });

  it('is looked up by its key, of one product and of all', () => {
    using test = testMirror();
    const plan = (sql: string) => test.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => detail);
    const lookUp = 'SEARCH x USING PRIMARY KEY (product_id=? AND currency=? AND until_at>?)';
    for (const [sql, join] of [
      ['SELECT lowest_adult_price FROM products WHERE product_id = 7', ' LEFT-JOIN'],
      ['SELECT lowest_adult_price FROM products', ' LEFT-JOIN'],
      ["SELECT lowest_adult_price FROM product_prices WHERE product_id = 7 AND currency = 'USD'", ''],
    ] as const)
      expect(plan(sql)).toContain(lookUp + join);
  });
});
