import { describe, expect, it } from 'vitest';
import type { ProductEntry } from '../../../src/domain/catalogue/product.ts';
import { generateCatalogue } from '../../../src/sandbox/world/catalogue.ts';
import { openReader } from '../../../src/storefront/reader.ts';
import { needs } from '../../fakes/needs.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { realEntries } from './entries.ts';

/** Returns the most frequent cities, the largest first. */
function largest(entries: readonly ProductEntry[], count: number): string[] {
  const sizes = new Map<string, number>();
  for (const { city_name } of entries) sizes.set(city_name ?? '', (sizes.get(city_name ?? '') ?? 0) + 1);
  return [...sizes]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([city]) => city);
}

/** Returns the cities of which the name finds a product elsewhere first, in a list that comes by popularity. */
function misled(entries: readonly ProductEntry[], cities: readonly string[]): string[] {
  using test = testMirror();
  const { mirror } = test;
  putProducts(mirror, entries);
  mirror.transaction(() =>
    mirror.listPlaces.note(
      entries.map(({ product_id }) => product_id),
      1,
    ),
  );
  using reader = openReader(mirror.path);
  return cities.filter((city) => !reader.find({ text: city }).hits[0]?.city_name?.startsWith(city));
}

describe('the name of a large city finds what lies in it first', () => {
  it('although a little known product elsewhere begins with it', () => {
    const entries = generateCatalogue(1, 400).map(({ id, title, tagline, place, city_id }) =>
      productOf(id, { title, tagline, city_name: place.city, city_id, country_name: place.country, venue_id: null }),
    );
    const cities = largest(entries, 14);
    const buses = cities.map((city, index) =>
      productOf(index + 1, { title: `${city} Airport: Bus Transfer`, city_name: 'Girona', venue_id: null }),
    );
    expect(misled([...entries, ...buses], cities)).toEqual([]);
  });

  it('in the shared sample, for each of the 14 largest', needs('data'), () => {
    const entries = realEntries();
    expect(misled(entries, largest(entries, 14))).toEqual([]);
  });
});
