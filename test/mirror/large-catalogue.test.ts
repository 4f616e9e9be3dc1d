import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { policyOf } from '../../src/daemon/policy.ts';
import { recordReads } from '../../src/mirror/schedule/record-reads.ts';
import { readsOf } from '../../src/sqlite/statements.ts';
import { prepareRecords } from '../../src/sync/records/prepare.ts';
import { replanRest } from '../../src/sync/records/reschedule.ts';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const hour = 3_600_000;
const now = Date.parse('2026-11-21T12:00:00Z');
const products = 230;

/** Adapts the plan to a cadence of the variants, as a start does. */
function startWith({ mirror }: TestMirror, variants: string) {
  const { config } = testConfig('/nowhere', 'http://127.0.0.1:1', { cadence: { variants } });
  const clock = { now: () => now } as Parameters<typeof prepareRecords>[0]['clock'];
  const ports = { mirror, clock, policy: policyOf(config, () => true), log: testLog('warn').log };
  prepareRecords(ports);
  return ports;
}

/** Reads every record, so that all wait for their cadence. */
function readAll({ mirror }: TestMirror): void {
  const due = { at: now + 20 * hour, reason: 'cadence-elapsed' } as const;
  const read = { sent_at: now, changed: false, body_hash: null, stale_at: now, due, volatility: null };
  mirror.transaction(() => {
    for (const product_id of [0, ...mirror.products.ids()])
      for (const record of mirror.records.ofProduct(product_id))
        mirror.records.fetched(record, { ...read, off_sale_at: null, unanswered_at: null });
  });
}

const planned = (test: TestMirror, after: number) =>
  test.all<{ planned: number }>(
    `SELECT count(*) AS planned FROM _record WHERE resource = 'variants' AND stale_at = fetched_at + ${after * hour}`,
  )[0]?.planned;

it('another cadence plans a large catalogue again in slices, which go on after a start in the middle', async () => {
  using test = testMirror();
  const ids = Array.from({ length: products }, (_, index) => productOf(index + 1, {}));
  putProducts(test.mirror, ids, { sent_at: now });
  startWith(test, '24h');
  readAll(test);
  startWith(test, '30h');
  // The lists are the first of fifty.
  expect([planned(test, 30), test.mirror.promises.replannedTo()]).toEqual([49, 49]);
  const ports = startWith(test, '30h');
  expect(planned(test, 30)).toBe(49);
  const { signal } = new AbortController();
  await replanRest(ports, signal);
  expect([planned(test, 30), test.mirror.promises.replannedTo()]).toEqual([products, null]);
  // Another one in the middle of a change begins again.
  startWith(test, '40h');
  await replanRest(startWith(test, '50h'), signal);
  expect(planned(test, 50)).toBe(products);
});

it('whether a record waits for its first read is looked up, however many were read', () => {
  using test = testMirror();
  const [text = ''] = recordedStatements(() => recordReads(readsOf(test.reader)).isAnyUnread());
  const plan = () => test.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`).map(({ detail }) => detail);
  expect(plan()).toEqual(['SEARCH _record USING INDEX _record_unread (failures<?)']);
  expect(test.mirror.records.isAnyUnread()).toBe(false);
  putProducts(test.mirror, [productOf(1, {})], { sent_at: now });
  startWith(test, '24h');
  expect(test.mirror.records.isAnyUnread()).toBe(true);
  readAll(test);
  expect(test.mirror.records.isAnyUnread()).toBe(false);
});

it('a walk that finds products as they were sets their instants alone, so that no index of them is written again', () => {
  using test = testMirror();
  putProducts(test.mirror, [productOf(1), productOf(2)], { sent_at: now });
  const db = new Database(test.mirror.path);
  db.exec(`CREATE TABLE set_again (product_id INTEGER);
    CREATE TRIGGER city_set AFTER UPDATE OF city_id ON _product BEGIN INSERT INTO set_again VALUES (NEW.product_id); END`);
  db.close();
  putProducts(test.mirror, [productOf(1), productOf(2, { rating: 4.6 })], { sent_at: now + hour });
  expect(test.all('SELECT product_id FROM set_again')).toEqual([{ product_id: 2 }]);
  expect(test.all('SELECT product_id, read_at, images_verified_at, rating FROM _product')).toEqual([
    { product_id: 1, read_at: now + hour, images_verified_at: now + hour, rating: 4.5 },
    { product_id: 2, read_at: now + hour, images_verified_at: now + hour, rating: 4.6 },
  ]);
});

it('a start goes through the records of all products only where they may be others', () => {
  using test = testMirror();
  putProducts(test.mirror, [productOf(1, {}), productOf(2, {})], { sent_at: now });
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
  test.mirror.transaction(() => test.mirror.records.dropResource('variants'));
  expect(started()).toBe(2);
});
