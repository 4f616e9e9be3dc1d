import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { addDays } from '../../../src/domain/time/dates.ts';
import { mirrorFile } from '../../../src/mirror/sql/files.ts';
import type { Window } from './start-readers.ts';

const daysEach = 10;

/**
 * A mirror as the first `steps` migrations left it, with `products` products and ten dates of each, in the numbers of
 * fakes/numbered-service.ts: the state of a product is 100 and the last two digits of its id.
 */
export function makeOldMirror(path: string, { steps, products }: { steps: number; products: number }): Window[] {
  mkdirSync(dirname(path), { mode: 0o3770 });
  closeSync(openSync(path, 'wx', mirrorFile.mode));
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = OFF');
  const names = readdirSync(mirrorFile.migrations).sort().slice(0, steps);
  for (const name of names) db.exec(readFileSync(new URL(name, mirrorFile.migrations), 'utf8'));
  db.pragma(`application_id = ${mirrorFile.application_id}`);
  db.pragma(`user_version = ${steps}`);
  const now = Date.now();
  const from = addDays(new Date(now).toISOString().slice(0, 10), 2);
  db.exec(`
    INSERT INTO mirror VALUES (1, 'pair', 1, ${steps}, 'catalogued of old', 0, ${now}, 'en', 'EUR');
    INSERT INTO zone_offset VALUES ('UTC', 0, 0);
    CREATE TEMP TABLE p AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${products})
      SELECT i AS id, 100 + i % 100 AS state FROM n;
    CREATE TEMP TABLE d AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${daysEach - 1})
      SELECT date('${from}', '+' || i || ' days') AS date, CAST(julianday('${from}') - 2440587.5 AS INTEGER) + i AS day FROM n;
    INSERT INTO product (product_id, timezone, sale_status, city_id, venue_id, latitude, longitude, first_seen_at, read_at, images_verified_at)
      SELECT id, 'UTC', 'enabled', id % 90, id, 40 + id % 20, id % 10, ${now}, ${now}, ${now} FROM p;
    INSERT INTO product_text (product_id, language, title, tagline, city_name, checked_at, changed_at, stale_at, list_document)
      SELECT id, 'en', 'State ' || state, 'A place to see', 'Town ' || id % 90, ${now}, ${now}, ${now + 6e8}, json_object('id', id,
        'title', 'State ' || state, 'summary', 'Open most days.', 'venue', json_object('id', id, 'name', 'Hall ' || id)) FROM p;
    INSERT INTO product_price SELECT id, 'EUR', 100000 + state, ${now} FROM p;
    INSERT INTO availability_span SELECT id, 'EUR', '${from}', '${addDays(from, daysEach - 1)}', ${now}, ${now + 6e8}, 'x', 20, '[1]' FROM p;
    INSERT INTO day_document SELECT id * 100 + day % 100, json_array(state, 'UTC', json_array(
        json_array(600, state, json_array(json_array(1, state, 1000 + state))),
        json_array(870, state, json_array(json_array(1, state, 1000 + state))))) FROM p, d WHERE (day + state) % 5 <> 0;
    INSERT INTO day SELECT id, 'EUR', date, 1, 1000 + state, state, state, 'x', id * 100 + day % 100 FROM p, d WHERE (day + state) % 5 <> 0;
    INSERT INTO day SELECT id, 'EUR', date, 0, NULL, NULL, NULL, 'sold-out', NULL FROM p, d WHERE (day + state) % 5 = 0;
    INSERT INTO record (resource, product_id, edition, part, due_at, due_reason, fetched_at)
      SELECT r.value, p.id, 'EUR', 0, ${now + 6e8}, 'cadence-elapsed', ${now} FROM p,
        json_each('["product_detail","checkout_information","variants","availability"]') r;`);
  db.close();
  return Array.from({ length: products }, (_, index) => ({ product_id: index + 1, from, days: daysEach }));
}
