import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { policyOf } from '../../src/daemon/policy.ts';
import { recordReads } from '../../src/mirror/schedule/record-reads.ts';
import { readsOf } from '../../src/sqlite/statements.ts';
import { prepareRecords } from '../../src/sync/records/prepare.ts';
import { replanRest } from '../../src/sync/records/replan.ts';
import { recordedStatements, runStatements } from '../fakes/recorded-statements.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';

const hour = 3_600_000;
const now = instant(Date.parse('2026-11-21T12:00:00Z'));
const products = 230;

/** Adapts the plan to a cadence of the variants and so many dates, as a start does. */
function startWith({ mirror }: TestMirror, variants: string, horizon = 92) {
  const { config } = testConfig('/nowhere', 'http://127.0.0.1:1', { cadence: { variants, availability: { horizon } } });
  const clock = { now: () => now } as Parameters<typeof prepareRecords>[0]['clock'];
  const ports = testSync({ mirror, clock, policy: policyOf(config, () => true), log: testLog('warn').log });
  prepareRecords(ports);
  return ports;
}

/** Reads every record, so that all wait for their cadence. */
function readAll({ mirror }: TestMirror): void {
  const due = { at: instant(now + 20 * hour), reason: 'cadence-elapsed' } as const;
  const read = { sent_at: now, changed: false, body_hash: null, stale_at: now, due, volatility: null };
  mirror.transaction(() => {
    for (const product_id of [0, ...mirror.catalogue.products.ids()])
      for (const record of mirror.schedule.records.ofProduct(product_id))
        mirror.schedule.records.fetched(record, {
          ...read,
          off_sale_at: null,
          unanswered_at: null,
          shows: null,
          times: null,
        });
  });
}

const planned = (test: TestMirror, after: number) =>
  test.all<{ planned: number }>(
    `SELECT count(*) AS planned FROM _record WHERE resource = 'variants' AND stale_at = fetched_at + ${after * hour}`,
  )[0]?.planned;

it('another cadence plans a large catalogue again in slices, which go on after a start in the middle', async () => {
  using test = testMirror();
  const ids = Array.from({ length: products }, (_, index) => productOf(index + 1, {}));
  putProducts(test, ids, { sent_at: now });
  const { signal } = new AbortController();
  await replanRest(startWith(test, '24h'), signal);
  readAll(test);
  startWith(test, '30h');
  // The lists are the first of fifty.
  expect([planned(test, 30), test.mirror.schedule.targets.replannedTo()]).toEqual([49, 49]);
  const ports = startWith(test, '30h');
  expect(planned(test, 30)).toBe(49);
  await replanRest(ports, signal);
  expect([planned(test, 30), test.mirror.schedule.targets.replannedTo()]).toEqual([products, null]);
  // Another one in the middle of a change begins again.
  startWith(test, '40h');
  await replanRest(startWith(test, '50h'), signal);
  expect(planned(test, 50)).toBe(products);
});

it('another extent gives a large catalogue its records in slices, and takes others away at once', async () => {
  using test = testMirror();
  const ids = Array.from({ length: products }, (_, index) => productOf(index + 1, {}));
  putProducts(test, ids, { sent_at: now });
  const { signal } = new AbortController();
  const windows = () => test.all<{ part: number; n: number }>(
    "SELECT part, count(*) AS n FROM _record WHERE resource = 'availability' GROUP BY part ORDER BY part",
  ).map(({ n }) => n); // biome-ignore format: one statement
  const startTo = (horizon: number) => startWith(test, '24h', horizon);
  startTo(62);
  expect(windows()).toEqual([49, 49]);
  await replanRest(startTo(62), signal);
  expect(windows()).toEqual([products, products]);
  const longer = startTo(93);
  expect(windows()).toEqual([products, products, 49]);
  await replanRest(longer, signal);
  expect(windows()).toEqual([products, products, products]);
  startTo(31);
  expect(windows()).toEqual([products]);
});

it('whether a record waits for its first read is looked up, however many were read', () => {
  using test = testMirror();
  const [text = ''] = recordedStatements(() => recordReads(readsOf(test.reader)).isAnyUnread());
  const plan = () => test.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map(({ detail }) => detail);
  expect(plan()).toEqual(['SEARCH _record USING INDEX _record_unread (failures<?)']);
  expect(test.mirror.schedule.records.isAnyUnread()).toBe(false);
  putProducts(test, [productOf(1, {})], { sent_at: now });
  startWith(test, '24h');
  expect(test.mirror.schedule.records.isAnyUnread()).toBe(true);
  readAll(test);
  expect(test.mirror.schedule.records.isAnyUnread()).toBe(false);
});

it('a walk that finds products as they were sets their instants alone, so that no index of them is written again', () => {
  using test = testMirror();
  putProducts(test, [productOf(1), productOf(2)], { sent_at: now });
  const db = new Database(test.mirror.path);
  db.exec(`CREATE TABLE set_again (product_id INTEGER);
    CREATE TRIGGER city_set AFTER UPDATE OF city_id ON _product BEGIN INSERT INTO set_again VALUES (NEW.product_id); END`);
  db.close();
  putProducts(test, [productOf(1), productOf(2, { rating: 4.6 })], { sent_at: instant(now + hour) });
  expect(test.all('SELECT product_id FROM set_again')).toEqual([{ product_id: 2 }]);
  expect(test.all('SELECT product_id, read_at, images_verified_at, rating FROM _product')).toEqual([
    { product_id: 1, read_at: now + hour, images_verified_at: now + hour, rating: 4.5 },
    { product_id: 2, read_at: now + hour, images_verified_at: now + hour, rating: 4.6 },
  ]);
});

const planOf = (test: TestMirror, text: string) =>
  test
    .all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...Array.from(text.matchAll(/\?/g), () => null))
    .map(({ detail }) => detail);

it('an entry of the list that has changed is stored by looking up: nothing goes through all products', () => {
  using test = testMirror();
  putProducts(test, [productOf(1), productOf(2)], { sent_at: now });
  // The last change, the closures in force, the mirror's own row and its languages.
  const few = /^SCAN (_change|_closure|_mirror|m|l)$/;
  const scans = (work: () => void) =>
    runStatements(work)
      .filter((text) => /^(select|insert|replace|update|delete)/i.test(text))
      .flatMap((text) => planOf(test, text))
      .filter((detail) => detail.startsWith('SCAN') && !few.test(detail));
  const storing = (entry: Parameters<typeof productOf>[1]) =>
    scans(() => putProducts(test, [productOf(2, entry)], { sent_at: instant(now + hour) }));
  expect(storing({ from_price: 1000, title: 'Castle', timezone: 'Asia/Kolkata' })).toEqual([]);
  const zones = test.all<{ timezone: string }>('SELECT DISTINCT timezone FROM _zone_offset');
  expect(zones.map(({ timezone }) => timezone)).toEqual(['Asia/Kolkata', 'UTC']);
  // As a start does, which is seen (control).
  const starting = () => test.mirror.transaction(() => test.mirror.catalogue.writeZones(now));
  expect(scans(starting)).toEqual(expect.arrayContaining(['SCAN _product', 'SCAN p']));
});

it('a start goes through the records of all products only where they may be others', () => {
  using test = testMirror();
  putProducts(test, [productOf(1, {}), productOf(2, {})], { sent_at: now });
  const started = () => {
    startWith(test, '24h');
    return test.all("SELECT product_id FROM _record WHERE resource = 'variants'").length;
  };
  expect(started()).toBe(2);
  const db = new Database(test.mirror.path);
  // Whoever went through them would make it again.
  db.exec("DELETE FROM _record WHERE resource = 'variants' AND product_id = 1");
  db.close();
  expect(started()).toBe(1);
  // The service did not offer them for a while.
  test.mirror.transaction(() => test.mirror.schedule.records.dropResource('variants'));
  expect(started()).toBe(2);
});
