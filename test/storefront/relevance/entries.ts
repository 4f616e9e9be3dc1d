import { readFileSync } from 'node:fs';
import type { ProductEntry } from '../../../src/catalogue/product.rules.ts';
import { productOf } from '../../fakes/stored-products.ts';
import { sharedData } from '../../fakes/tools.ts';
import { townProducts } from './town-products.ts';

interface Sampled {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly city: string;
  readonly country: string;
  readonly rating: number;
}

function cityIds(): (city: string) => number {
  const ids = new Map<string, number>();
  return (city) => {
    const id = ids.get(city) ?? ids.size + 1;
    ids.set(city, id);
    return id;
  };
}

/** The catalogue that was written for the tests. */
export function townEntries(): ProductEntry[] {
  const cityId = cityIds();
  return townProducts.map(({ product_id, title, city, country, tagline }) =>
    productOf(product_id, {
      title,
      tagline,
      city_name: city,
      city_id: cityId(city),
      country_name: country,
      rating: null,
      venue_id: null,
    }),
  );
}

/** The products of the shared sample. */
export function realEntries(): ProductEntry[] {
  const cityId = cityIds();
  return (JSON.parse(readFileSync(new URL('catalogue-sample.json', sharedData), 'utf8')) as Sampled[]).map(
    ({ id, name, description, city, country, rating }) =>
    productOf(Number(id), {
      title: name, tagline: description, city_name: city, city_id: cityId(city), country_name: country,
      rating: rating > 0 ? rating : null, venue_id: null,
    }), // biome-ignore format: a product
  );
}
