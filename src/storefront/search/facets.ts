import type { Connection } from '../connection.ts';
import { type Form, facetSql } from './hits-sql.ts';
import { statements } from './statements.ts';

/** Number of results with a value. The id of a price is the lower end of its band, that of a rating its stars. */
export interface FacetValue {
  readonly id: number;
  readonly name: string | null;
  readonly count: number;
}

export type Facets = Readonly<Record<'city' | 'country' | 'tag' | 'price' | 'rating', readonly FacetValue[]>>;

/** Values that can be counted, as JSON. */
type Values = Readonly<Record<'city_id' | 'country_id' | 'tag_id' | 'price' | 'rating', string>>;

export const noFacets: Facets = { city: [], country: [], tag: [], price: [], rating: [] };

const mostValues = 50;

/** The lower ends of the bands of prices: 0, then 1, 2 and 5 times a power of ten. */
const bands = [0, ...[3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power))];

/** Counts what was found by each of these, the most first. Not in SQL: SQLite sorts all the values before it counts them. */
export function facetCounter(
  connection: Connection,
): (form: Form & { readonly cut: boolean }, bound: object) => Facets {
  const values = statements<Values, Form & { readonly cut: boolean }>(connection, facetSql);
  const cities = names(connection, 'city');
  const countries = names(connection, 'country');
  return (form, bound) => {
    const found = values(form).get(bound);
    if (found === undefined) return noFacets;
    return {
      city: cities(counted(found.city_id), bound),
      country: countries(counted(found.country_id), bound),
      tag: counted(found.tag_id),
      price: counted(found.price, (price) => bands.findLast((least) => price >= least)),
      rating: counted(found.rating, (rating) => Math.trunc(rating * 2) / 2),
    };
  };
}

function counted(values: string, idOf: (value: number) => number | undefined = (value) => value): FacetValue[] {
  const counts = new Map<number, number>();
  for (const value of JSON.parse(values) as (number | null)[]) {
    const id = value === null ? undefined : idOf(value);
    if (id !== undefined) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return Array.from(counts, ([id, count]) => ({ id, name: null, count }))
    .sort((one, two) => two.count - one.count || one.id - two.id)
    .slice(0, mostValues);
}

/** Returns what names values, of those that are shown alone. */
function names(connection: Connection, facet: 'city' | 'country') {
  const named = connection.query<object, { id: number; name: string | null }>(
    `SELECT i.value AS id,
  (SELECT p.${facet}_name FROM products p WHERE p.${facet}_id = i.value AND p.language = @language LIMIT 1) AS name
FROM json_each(@ids) i`,
  );
  return (values: readonly FacetValue[], bound: object): FacetValue[] => {
    const ids = JSON.stringify(values.map(({ id }) => id));
    const called = new Map(named.all({ ...bound, ids }).map(({ id, name }) => [id, name]));
    return values.map((value) => ({ ...value, name: called.get(value.id) ?? null }));
  };
}
