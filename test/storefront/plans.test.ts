import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { ExactQuestion } from '../../src/storefront/reader.ts';
import { documents, sqliteStatements } from '../documents.ts';
import { openReader } from '../fakes/reader.ts';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const date = '2026-12-05';
const near = { latitude: 52.37, longitude: 4.9, km: 5 };

/** Every form of search that there is. */
function searches(): ExactQuestion[] {
  const choices = <Value>(value: Value) => [undefined, value];
  const all = choices('tower').flatMap((text) =>
    choices(near).flatMap((place) =>
      choices(date).flatMap((on) =>
        choices(1).flatMap((city_id) =>
          choices(3000).flatMap((max_price) =>
            (['relevance', 'price', 'distance'] as const).map((order) => ({
              text,
              near: place,
              date: on,
              city_id,
              max_price,
              order,
            })),
          ),
        ),
      ),
    ),
  );
  return all.filter(
    (each) =>
      (each.order !== 'distance' || each.near !== undefined) &&
      (each.text !== undefined || each.near !== undefined || each.date !== undefined || each.city_id !== undefined),
  );
}

function everyStatement(path: string): string[] {
  return recordedStatements(() => {
    using reader = openReader(path);
    reader.info();
    reader.product(7);
    reader.withdrawn(7);
    for (const city_id of [undefined, 1])
      for (const tag_id of [undefined, 1])
        for (const experience_id of [undefined, 1]) reader.products({ city_id, tag_id, experience_id });
    reader.experience(5);
    for (const city_id of [undefined, 1]) reader.experiences({ city_id });
    reader.images(7);
    reader.checkoutInformation(7);
    reader.variants(7);
    reader.calendar(7);
    reader.slots(7, date);
    reader.cheapest(7);
    reader.alternatives(7);
    for (const product_id of [undefined, 7]) reader.tags({ product_id });
    reader.sellable(7);
    reader.changes(0);
    for (const question of searches()) reader.exact(question);
  }).filter((text) => text.startsWith('SELECT') && !text.includes('pragma_'));
}

/** Statements of the documents. */
function examples(): string[] {
  return documents.flatMap(sqliteStatements);
}

/** What of a plan goes through a whole table that grows with the catalogue. */
function scans(db: Database.Database, text: string): string[] {
  const names = new Set([...text.matchAll(/[@:](\w+)/g)].map(([, name = '']) => name));
  const bound = Object.fromEntries([...names].map((name) => [name, name === 'match' ? '"tower"*' : 1]));
  const places = names.size > 0 ? [bound] : [...text.matchAll(/\?/g)].map(() => 1);
  const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`).all(...places);
  return plan
    .map(({ detail }) => detail)
    .filter((detail) => detail.startsWith('SCAN '))
    .filter((detail) => !small.test(detail));
}

/**
 * The one row of `_mirror`, or of `_row_feed`; what has just been looked up by key (the products of one experience `e`, the venues of one city `v`, the variants of one
 * product `w`, what is recommended `r`, the boxes of a place `l`, the times of one date `u`); what policies say (`said`); all tags (`k`), a few hundred; words, places and JSON by an index of their own.
 */
const small =
  /^SCAN (m|said|_mirror|_row_feed|languages|currencies|k|e|v|w|r|l|u|\(subquery-\d+\)|\d* ?CONSTANT ROWS?|\d+-ROW VALUES CLAUSE)$|VIRTUAL TABLE INDEX (0:M\d+|2:\w+|[13]:( LEFT-JOIN)?)$/;

it('no read and no search of the reader, and no example of the documents, goes through a big table', () => {
  using test = testMirror();
  putProducts(test, [productOf(7, { tag_ids: [1] })]);
  const db = new Database(test.path, { readonly: true });
  const statements = everyStatement(test.path);
  expect(statements.length).toBeGreaterThan(70);
  expect(examples().length).toBeGreaterThan(2);
  for (const text of [...statements, ...examples()]) expect(scans(db, text), text).toEqual([]);
  // Control: one that does.
  expect(scans(db, 'SELECT product_id FROM products WHERE title = ?')).not.toEqual([]);
  expect(scans(db, 'SELECT product_id FROM product_places WHERE x > 0')).not.toEqual([]);
  db.close();
});
