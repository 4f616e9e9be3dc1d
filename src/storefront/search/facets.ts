import type { Connection } from '../connection.ts';

/** Number of results with a value. The id of a price is the lower end of its band, that of a rating its stars. */
export interface FacetValue {
  readonly id: number;
  readonly name: string | null;
  readonly count: number;
}

export type Facets = Readonly<Record<'city' | 'country' | 'tag' | 'price' | 'rating', readonly FacetValue[]>>;

export const noFacets: Facets = { city: [], country: [], tag: [], price: [], rating: [] };

const mostValues = 50;

/** The lower ends of the bands of prices: 0, then 1, 2 and 5 times a power of ten. */
const bands = [0, ...[3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))];

/** Counts values of products, the most first. Not in SQL: SQLite sorts all the values before it counts them. */
export class FacetCounter {
  readonly #cities: Namer;
  readonly #countries: Namer;

  constructor(connection: Connection) {
    this.#cities = names(connection, 'city');
    this.#countries = names(connection, 'country');
  }

  /** `values`: JSON, as the statements of hits-sql.ts return it. */
  count(values: string, bound: object): Facets {
    const [cities, countries, ratings, prices, tags] = JSON.parse(values) as Values;
    return {
      city: this.#cities(most(counted(cities)), bound),
      country: this.#countries(most(counted(countries)), bound),
      tag: most(counted(tags)),
      price: most(grouped(counted(prices), (price) => bands.findLast((least) => price >= least))),
      rating: most(grouped(counted(ratings), (rating) => Math.trunc(rating * 2) / 2)),
    };
  }
}

type Values = readonly [
  cities: readonly (number | null)[],
  countries: readonly (number | null)[],
  ratings: readonly (number | null)[],
  prices: readonly (number | null)[],
  tags: readonly number[],
];

type Counts = ReadonlyMap<number, { count: number }>;

function counted(values: readonly (number | null)[]): Counts {
  const counts = new Map<number, { count: number }>();
  for (const value of values) {
    if (value === null) continue;
    const known = counts.get(value);
    if (known === undefined) counts.set(value, { count: 1 });
    else known.count += 1;
  }
  return counts;
}

/** Adds up the counts of values with the same id. One without an id is not counted. */
function grouped(counts: Counts, idOf: (value: number) => number | undefined): Counts {
  const groups = new Map<number, { count: number }>();
  for (const [value, { count }] of counts) {
    const id = idOf(value);
    if (id !== undefined) groups.set(id, { count: (groups.get(id)?.count ?? 0) + count });
  }
  return groups;
}

/** Returns the values with the highest counts. Only those that can be among them are sorted. */
function most(counts: Counts): FacetValue[] {
  const found = Array.from(counts, ([id, { count }]) => ({ id, name: null, count }));
  const numbers = Float64Array.from(found, ({ count }) => count).sort();
  const least = numbers.at(-mostValues) ?? 0;
  return found
    .filter(({ count }) => count >= least)
    .sort((one, two) => two.count - one.count || one.id - two.id)
    .slice(0, mostValues);
}

type Namer = (values: readonly FacetValue[], bound: object) => FacetValue[];

/** Returns what names values, of those that are shown alone. */
function names(connection: Connection, facet: 'city' | 'country'): Namer {
  const named = connection.query<object, { id: number; name: string | null }>(
    `SELECT i.value AS id,
  (SELECT p.${facet}_name FROM products p WHERE p.${facet}_id = i.value AND p.language = @language LIMIT 1) AS name
FROM json_each(@ids) i`,
  );
  return (values, bound) => {
    const ids = JSON.stringify(values.map(({ id }) => id));
    const called = new Map(named.all({ ...bound, ids }).map(({ id, name }) => [id, name]));
    return values.map((value) => ({ ...value, name: called.get(value.id) ?? null }));
  };
}
