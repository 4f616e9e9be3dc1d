import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openReader } from '../fakes/reader.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

const radians = Math.PI / 180;

function haversine(a: Place, b: Place): number {
  const h =
    Math.sin(((b.latitude - a.latitude) * radians) / 2) ** 2 +
    Math.cos(a.latitude * radians) *
      Math.cos(b.latitude * radians) *
      Math.sin(((b.longitude - a.longitude) * radians) / 2) ** 2;
  return 2 * 6371.0088 * Math.asin(Math.min(1, Math.sqrt(h)));
}

const coordinate = (limit: number, edges: readonly number[]) =>
  fc.oneof(fc.double({ min: -limit, max: limit, noNaN: true }), fc.constantFrom(...edges));
const place = fc.record({
  latitude: coordinate(90, [-90, 90, 89.99, -89.99, 0]),
  longitude: coordinate(180, [-180, 180, 179.99, -179.99, 0]),
});

it('near a place are all products within the distance and no others, also at the poles and across the antimeridian', () => {
  using test = testMirror();
  const edges: Place[] = [90, -90, 89.9, -89.9, 52.37, 0].flatMap((latitude) =>
    [180, -180, 179.97, -179.97, 4.9, 0].map((longitude) => ({ latitude, longitude })),
  );
  const places = [...edges, ...fc.sample(place, { seed: 7, numRuns: 100 })];
  putProducts(
    test,
    places.map((each, index) => productOf(index + 1, each)),
  );
  using reader = openReader(test.path);
  const distance = fc.oneof(
    fc.double({ min: 0, max: 50, noNaN: true }),
    fc.double({ min: 0, max: 20_037, noNaN: true }),
  );
  fc.assert(
    fc.property(place, distance, (here, km) => {
      const hits = reader.exact({ near: { ...here, km }, order: 'distance', limit: 1000 });
      const found = new Map(hits.map(({ product_id, distance_km }) => [product_id, distance_km ?? Number.NaN]));
      expect(found.size).toBe(hits.length);
      places.forEach((there, index) => {
        const away = haversine(here, there);
        // To the metre: arc sine is flat where the circle is all but the whole globe.
        if (Math.abs(away - km) > 0.001)
          expect(found.has(index + 1), `${JSON.stringify({ here, there, km, away })}`).toBe(away <= km);
        if (found.has(index + 1)) expect(Math.abs((found.get(index + 1) ?? 0) - away)).toBeLessThan(0.001);
      });
      const order = hits.map(({ distance_km }) => distance_km ?? 0);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }),
    { numRuns: 200, examples: [[{ latitude: 52.37, longitude: 0 }, 340]] },
  );
});
