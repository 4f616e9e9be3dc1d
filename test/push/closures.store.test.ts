import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import type { ProductRead } from '../../src/catalogue/product-reads.store.ts';
import { instant } from '../../src/kernel/clock.ts';
import { testMirror } from '../fakes/test-mirror.ts';

const edition = { language: 'en', currency: 'EUR' };
const read: ProductRead = {
  source: 'list', ...edition, primary: edition, sent_at: instant(1000), now: instant(1000), stale_at: instant(2000), reason: 'never-fetched',
}; // biome-ignore format: one read
const entry = (product_id: number): ProductEntry => ({
  product_id, title: 'A', tagline: null, sale_status: 'enabled', disabled_reason: null, expected_reopening: null, from_price: null,
  city_id: null, city_name: null, country_id: null, country_name: null, venue_id: null, latitude: null, longitude: null,
  timezone: null, rating: null, tag_ids: [], images: null, document: '{}',
}); // biome-ignore format: one row

it('a closure is forgotten when it has been over for long; one in force stays, however old', () => {
  using test = testMirror();
  const { mirror } = test;
  const { closures } = mirror.push;
  const { products } = mirror.catalogue;
  const words = { reason: null, expected_reopening: null, alternative_product_id: null };
  const close = (product_id: number) => {
    products.store(entry(product_id), read);
    closures.put({
      product_id,
      delivery_id: 1,
      notified_at: instant(2000),
      applied_at: instant(2000),
      available_at: null,
      ...words,
    });
    return closures.inForce({ product_id })?.closure_id ?? 0;
  };
  mirror.transaction(() => {
    closures.mark(close(1), 'ended_at', instant(5000));
    closures.mark(close(2), 'ended_at', instant(9000));
    close(3);
    closures.prune({ before: instant(6000) });
  });
  expect([1, 2, 3].map((product_id) => closures.ofProduct({ product_id }).length)).toEqual([0, 1, 1]);
});

it('a second closure that names no alternative keeps that of the first, and takes a new one', () => {
  using test = testMirror();
  const { closures } = test.mirror.push;
  const db = new Database(test.path);
  db.exec("INSERT INTO _product (product_id, sale_status, first_seen_at) VALUES (1, 'enabled', 0)");
  db.close();
  const closure = {
    product_id: 1,
    delivery_id: 1,
    notified_at: instant(1000),
    applied_at: instant(1000),
    available_at: null,
  };
  const words = { reason: 'out_of_season', expected_reopening: null };
  test.mirror.transaction(() => {
    closures.put({ ...closure, ...words, alternative_product_id: 7 });
    closures.mark(closures.inForce({ product_id: 1 })?.closure_id ?? 0, 'confirmed_at', instant(2000));
    closures.put({ ...closure, delivery_id: 2, notified_at: instant(3000), ...words, alternative_product_id: null });
  });
  expect(closures.inForce({ product_id: 1 })).toMatchObject({ delivery_id: 2, alternative_product_id: 7 });
  test.mirror.transaction(() => closures.put({ ...closure, delivery_id: 3, ...words, alternative_product_id: 9 }));
  expect(closures.inForce({ product_id: 1 })).toMatchObject({ alternative_product_id: 9 });
});
