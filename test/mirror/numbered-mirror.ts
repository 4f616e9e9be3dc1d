import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { openForWriting } from '../../src/kernel/sqlite/database-file.ts';
import { addDays } from '../../src/kernel/time/venue.ts';
import { mirrorFile } from '../../src/mirror/sql/files.ts';
import type { Window } from '../storefronts/under-load/start-readers.ts';

const daysEach = 10;

/**
 * Makes a mirror with `products` products and ten dates of each, in the numbers of fakes/numbered-service.ts: the state of a
 * product is 100 and the last two digits of its id.
 */
export function makeNumberedMirror(path: string, products: number): Window[] {
  mkdirSync(dirname(path), { mode: 0o3770 });
  const db = openForWriting(path, mirrorFile);
  db.pragma('synchronous = OFF');
  const now = Date.now();
  const from = addDays(new Date(now).toISOString().slice(0, 10), 2);
  db.exec(`
    INSERT INTO _mirror (mirror_id, pair_id, contract_version, schema_version, written_by, filled_at, language, currency)
      VALUES (1, 'pair', 1, 1, 'catalogued of before', ${now}, 'en', 'EUR');
    INSERT INTO languages VALUES ('en', 1);
    INSERT INTO currencies VALUES ('EUR', 1, 2);
    INSERT INTO _zone_offset VALUES ('UTC', 0, 0);
    CREATE TEMP TABLE p AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${products})
      SELECT i AS id, 100 + i % 100 AS state FROM n;
    CREATE TEMP TABLE d AS WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${daysEach - 1})
      SELECT date('${from}', '+' || i || ' days') AS date, CAST(julianday('${from}') - 2440587.5 AS INTEGER) + i AS day FROM n;
    INSERT INTO _product (product_id, timezone, sale_status, city_id, venue_id, latitude, longitude, first_seen_at)
      SELECT id, 'UTC', 'enabled', id % 90, id, 40 + id % 20, id % 10, ${now} FROM p;
    INSERT INTO _product_read (product_id, read_at, images_verified_at) SELECT id, ${now}, ${now} FROM p;
    INSERT INTO _product_text (product_id, language, title, tagline, city_name, changed_at, list_document)
      SELECT id, 'en', 'State ' || state, 'A place to see', 'Town ' || id % 90, ${now}, json_object('id', id,
        'title', 'State ' || state, 'summary', 'Open most days.', 'venue', json_object('id', id, 'name', 'Hall ' || id)) FROM p;
    INSERT INTO _text_read (product_id, language, checked_at, stale_at) SELECT id, 'en', ${now}, ${now + 6e8} FROM p;
    INSERT INTO product (product_id, language, read_language, language_shown, title, tagline, sale_status, sellable, currency, city_id,
        city_name, venue_id, latitude, longitude, timezone, utc_offset, changed_at, document)
      SELECT product_id, 'en', 'en', 'en', title, tagline, sale_status, sellable, 'EUR', city_id, city_name, venue_id, latitude, longitude,
        timezone, 0, changed_at, list_document FROM _product JOIN _product_text USING (product_id);
    INSERT INTO price (product_id, currency, from_at, until_at, from_price, shut)
      SELECT id, 'EUR', 0, ${8.64e15}, 100000 + state, 0 FROM p;
    INSERT INTO _price_read (product_id, currency, checked_at, stale_at) SELECT id, 'EUR', ${now}, ${now} FROM p;
    INSERT INTO date_window (window_id, shut, product_id, currency, from_date, to_date, checked_at, stale_at, body_hash, max_tickets_per_order, variant_ids)
      SELECT id, 0, id, 'EUR', '${from}', '${addDays(from, daysEach - 1)}', ${now}, ${now + 6e8}, 'x', 20, '[1]' FROM p;
    INSERT INTO slot_day (product_id, currency, date, zero_at, rest, slots)
      SELECT id, 'EUR', date, day * 86400000, json_array(state, 'UTC'),
        json_array(json_array(600, state, json_array(json_array(1, state, 1000 + state))), json_array(870, state, 0)) FROM p, d WHERE (day + state) % 5 <> 0;
    INSERT INTO day (product_id, currency, date, until_at, counted_until_at, from_at, state, lowest_price, max_tickets, availability, window_id)
      SELECT id, 'EUR', date, (day + 1) * 86400000, (day + 1) * 86400000, 0, CASE WHEN (day + state) % 5 THEN 'available' ELSE 'sold_out' END,
        CASE WHEN (day + state) % 5 THEN 1000 + state END, CASE WHEN (day + state) % 5 THEN state END, CASE WHEN (day + state) % 5 THEN state END, id FROM p, d;
    INSERT INTO _record (resource, product_id, edition, part, due_at, due_reason, fetched_at)
      SELECT r.value, p.id, 'EUR', 0, ${now + 6e8}, 'cadence-elapsed', ${now} FROM p,
        json_each('["product_detail","checkout_information","variants","availability"]') r;`);
  db.close();
  return Array.from({ length: products }, (_, index) => ({ product_id: index + 1, from, days: daysEach }));
}
