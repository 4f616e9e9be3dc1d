import { describe, expect, it } from 'vitest';
import type { ProductEntry } from '../../../src/domain/catalogue/product.ts';
import { generateCatalogue } from '../../../src/sandbox/world/catalogue.ts';
import { putPlaces } from '../../fakes/planted.ts';
import { openReader } from '../../fakes/reader.ts';
import { productOf, putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { townEntries } from './entries.ts';

const least = 10;
const page = 20;

/** Returns the cities with ten products and more, and how many each has. */
function large(entries: readonly ProductEntry[]): [city: string, products: number][] {
  const cities = Map.groupBy(entries, ({ city_name }) => city_name ?? '');
  return [...cities].map(([city, { length }]): [string, number] => [city, length]).filter(([, many]) => many >= least);
}

/** Stores products in a list that comes by popularity, or in none. */
function stored(entries: readonly ProductEntry[], order: 'listed' | 'rated') {
  const test = testMirror();
  putProducts(test, entries);
  const ids = entries.map(({ product_id }) => product_id);
  if (order === 'listed') putPlaces(test, ids, 1);
  return test;
}

/** Returns the cities whose name, typed alone, finds a page with products elsewhere, or not by popularity. */
function misled(entries: readonly ProductEntry[], order: 'listed' | 'rated'): string[] {
  using test = stored(entries, order);
  using reader = openReader(test.path);
  return large(entries).flatMap(([city, many]) => {
    const { hits } = reader.search({ text: city, limit: Math.min(many, page) });
    const places = hits.map(({ place }) => place);
    const sorted = places.every((place, index) => place >= (places[index - 1] ?? 0));
    return sorted && hits.every(({ city_name }) => city_name === city) ? [] : [city];
  });
}

describe('the name of a city', () => {
  it('finds what lies in it by popularity, before what has it in its name elsewhere', () => {
    const entries = generateCatalogue(1, 800).map(({ id, title, tagline, place, city_id }) =>
      productOf(id, { title, tagline, city_name: place.city, city_id, country_name: place.country, venue_id: null }),
    );
    const buses = large(entries).map(([city], index) =>
      productOf(index + 1, { title: `${city} Airport: Bus Transfer`, city_name: 'Girona', rating: 5, venue_id: null }),
    );
    expect(buses.length).toBeGreaterThanOrEqual(10);
    expect(misled([...buses, ...entries], 'listed')).toEqual([]);
    expect(misled([...buses, ...entries], 'rated')).toEqual([]);
  });

  it.each(['museum amsterdam', 'amsterdam museum'])(
    'behind other words puts nothing elsewhere before them: %s',
    (text) => {
      const museums = [
        productOf(904, { title: 'Museum of Bags', city_name: 'Amsterdam', rating: 2, venue_id: null }),
        productOf(905, {
          title: 'Old Church',
          tagline: 'A museum, too',
          city_name: 'Amsterdam',
          rating: 1,
          venue_id: null,
        }),
      ];
      const elsewhere = [
        productOf(901, { title: 'Amsterdam Museum of Tulips: Entry', city_name: 'Lisse', rating: 5, venue_id: null }),
        productOf(902, { title: 'Museum: Day Trip to Amsterdam', city_name: 'Brussels', rating: 5, venue_id: null }),
        productOf(903, { title: 'Museum of Trains: Entry', city_name: 'Utrecht', rating: 5, venue_id: null }),
      ];
      using test = stored([...elsewhere, ...townEntries(), ...museums], 'listed');
      using reader = openReader(test.path);
      const { hits } = reader.search({ text });
      const first = hits.findIndex(({ city_name }) => city_name !== 'Amsterdam');
      const before = hits.slice(0, first).map(({ product_id }) => product_id);
      expect(before).toEqual(expect.arrayContaining([904, 905]));
      expect(hits.slice(first).map(({ product_id }) => product_id)).toEqual(expect.arrayContaining([901, 902]));
    },
  );

  it('has to be whole: of two cities that begin alike each finds its own', () => {
    const entries = ['San Antonio', 'San Diego', 'San'].map((city_name, index) =>
      productOf(index + 1, { title: 'Tower', city_name, rating: index + 1, venue_id: null }),
    );
    using test = stored(entries, 'rated');
    using reader = openReader(test.path);
    const found = (text: string) => reader.search({ text }).hits.map(({ product_id }) => product_id);
    expect([found('san')[0], found('san antonio')[0], found('tower san diego')[0]]).toEqual([3, 1, 2]);
  });
});
