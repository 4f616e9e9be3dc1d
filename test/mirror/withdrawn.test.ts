import { expect, it } from 'vitest';
import { instant } from '../../src/clock.ts';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

const at = instant(Date.parse('2026-12-05T10:00:00Z'));

function withdraw({ mirror }: TestMirror, product_id: number): void {
  const by = { sent_at: at, reason: 'cadence-elapsed' } as const;
  mirror.transaction(() => mirror.catalogue.removals.withdraw(product_id, 'gone', at, by));
}

function successorOf(test: TestMirror, product_id: number): number | null | undefined {
  using reader = openReader(test.mirror.path);
  return reader.withdrawn(product_id)?.successor_product_id;
}

it('its successor is on sale: what the service recommended, else the most popular of its venue, else none', () => {
  using test = testMirror();
  putProducts(test, [
    productOf(1, { venue_id: 5 }),
    productOf(2, { venue_id: 5, sale_status: 'disabled' }),
    productOf(3, { venue_id: 5 }),
    productOf(4, { venue_id: 5 }),
    productOf(5, { venue_id: 6 }),
    productOf(6, { venue_id: null }),
  ]);
  for (const product_id of [1, 6]) withdraw(test, product_id);
  expect([successorOf(test, 1), successorOf(test, 6)]).toEqual([3, null]);
  test.mirror.transaction(() => test.mirror.catalogue.listPlaces.note([4, 3], 1));
  expect(successorOf(test, 1)).toBe(4);
  test.mirror.transaction(() => test.mirror.catalogue.listPlaces.clear());
  for (const product_id of [3, 4]) withdraw(test, product_id);
  // Only a product that is off sale is left of its venue.
  expect(successorOf(test, 1)).toBeNull();
});
