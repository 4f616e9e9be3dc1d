/*
 * The functions of the reader that are answered over HTTP, by name. The daemon makes its routes and their description
 * from this table, and `catalogued-reader/http` its requests. Arguments of a function that are not in `path` or `second`
 * are members of its last one, and stand in the query.
 */

interface Declared {
  /** `{id}` is the first argument. */
  readonly path: `/v1/${string}`;
  /** The argument after the id, which stands in the query too. */
  readonly second?: 'date';
  /** The members of the last argument by which the reader's own language and currency apply. */
  readonly edition?: readonly ('language' | 'currency')[];
  /** Its rows are those of this table of the contract. Absent: the answer is no row. */
  readonly rows?: string;
}

const edition = ['language', 'currency'] as const;

export const httpReads = {
  product: { path: '/v1/products/{id}', edition, rows: 'products' },
  products: { path: '/v1/products', edition, rows: 'products' },
  calendar: { path: '/v1/products/{id}/calendar', edition, rows: 'availability_days' },
  cheapest: { path: '/v1/products/{id}/cheapest', edition, rows: 'availability_days' },
  slots: { path: '/v1/products/{id}/slots', edition, second: 'date', rows: 'availability_slots' },
  images: { path: '/v1/products/{id}/images', rows: 'images' },
  prices: { path: '/v1/products/{id}/prices', rows: 'product_prices' },
  variants: { path: '/v1/products/{id}/variants', edition, rows: 'variants' },
  checkoutInformation: { path: '/v1/products/{id}/checkout_information', edition, rows: 'checkout_information' },
  alternatives: { path: '/v1/products/{id}/alternatives', edition, rows: 'products' },
  related: { path: '/v1/products/{id}/related', edition, rows: 'products' },
  withdrawn: { path: '/v1/products/{id}/withdrawn', rows: 'withdrawn_products' },
  sellable: { path: '/v1/products/{id}/sellable' },
  experience: { path: '/v1/experiences/{id}', edition, rows: 'experiences' },
  experienceImages: { path: '/v1/experiences/{id}/images', rows: 'experience_images' },
  experiences: { path: '/v1/experiences', edition, rows: 'experiences' },
  cities: { path: '/v1/cities', edition: ['language'], rows: 'cities' },
  countries: { path: '/v1/countries', edition, rows: 'countries' },
  tags: { path: '/v1/tags', edition: ['language'], rows: 'tags' },
  currencies: { path: '/v1/currencies', rows: 'currencies' },
  policies: { path: '/v1/policies', rows: 'policies' },
  search: { path: '/v1/search', edition },
  exact: { path: '/v1/search/exact', edition },
} as const satisfies Readonly<Record<string, Declared>>;

export type HttpRead = keyof typeof httpReads;
