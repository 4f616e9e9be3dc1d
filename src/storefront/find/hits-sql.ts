import type { Columns } from '../connection.ts';
import { type PrintedSql, printedOfDates, printedOfProduct } from '../printed-sql.ts';
import type { Filters, FindQuestion, Order } from './question.ts';

/** Which parts a search has: each form of it is one statement, prepared once. */
export interface Form {
  readonly text: boolean;
  readonly near: boolean;
  readonly order: Order;
  readonly filters: FilterForm;
}

export type FilterForm = Readonly<
  Record<'city' | 'country' | 'tag' | 'rating' | 'least' | 'most' | 'dates' | 'sellable', boolean>
>;

export function formOf(question: FindQuestion, text: boolean): Form {
  return {
    text,
    near: question.near !== undefined,
    order: question.order ?? 'relevance',
    filters: filterForm(question),
  };
}

export function filterForm(given: Filters): FilterForm {
  return {
    city: given.city_id !== undefined,
    country: given.country_id !== undefined,
    tag: given.tag_id !== undefined,
    rating: given.min_rating !== undefined,
    least: given.min_price !== undefined,
    most: given.max_price !== undefined,
    dates: given.from !== undefined || given.to !== undefined,
    sellable: given.sellable === true,
  };
}

/** Returns what the statements are bound to for filters. */
export function filterBindings({
  city_id,
  country_id,
  tag_id,
  min_rating,
  min_price,
  max_price,
  from,
  to,
}: Filters): object {
  return { city_id, country_id, tag_id, min_rating, min_price, max_price, from: from ?? to, to: to ?? from };
}

function printedSql(columns: Columns, id: string, dates: boolean): PrintedSql {
  return dates ? printedOfDates(columns, id) : printedOfProduct(columns, id);
}

/** Returns the conditions of filters, about the product `id` and its row `p` of the view `products`. */
export function filterSql(form: FilterForm, id: string, columns: Columns): string[] {
  const { price } = printedSql(columns, id, form.dates);
  const conditions = [
    form.city && 'p.city_id = @city_id',
    form.country && 'p.country_id = @country_id',
    form.rating && 'p.rating >= @min_rating',
    form.sellable && 'p.sellable = 1',
    form.tag && `EXISTS (SELECT 1 FROM product_tags g WHERE g.product_id = ${id} AND g.tag_id = @tag_id)`,
    form.dates &&
      `EXISTS (SELECT 1 FROM bookable_days b WHERE b.product_id = ${id} AND b.currency = @currency AND b.date BETWEEN @from AND @to)`,
    form.least && `${price} >= @min_price`,
    form.most && `${price} <= @max_price`,
  ];
  return conditions.filter((each) => each !== false);
}

/** Parts of a product, from what it is called to all that is said of it: each with those before it. */
const scopes = [
  '{name city country}',
  '{title city country}',
  '{title city country venue}',
  '{title city country venue tagline}',
];

/**
 * What `search_terms` is asked, part by part: who has every word in a part, and not in one before it, so that each entry
 * comes once. Where a word has several readings, first those that have the likeliest of each. `answer`: what has the columns
 * `every`, `best` and `start` of what was understood.
 */
export function foundSql(answer = '(SELECT @every AS every, @best AS best, @start AS start)'): string {
  const within = scopes.map((scope, index) => `'(${scope} : (' || every || '))' AS s${index}`);
  const parts = [
    "'(' || begins || ' AND ' || s0 || ')'",
    "'(' || s0 || ' NOT ' || begins || ')'",
    ...scopes.slice(1).map((_, index) => `'(' || s${index + 1} || ' NOT ' || s${index} || ')'`),
    `'((' || every || ') NOT ' || s${scopes.length - 1} || ')'`,
  ];
  const withBest = (sign: string) => parts.map((part) => `${part} || ' ${sign} (' || best || ')'`);
  return `asked_of (queries) AS MATERIALIZED (
  SELECT CASE WHEN best = every THEN json_array(${parts.join(', ')})
    ELSE json_array(${[...withBest('AND'), ...withBest('NOT')].join(',\n      ')}) END
  FROM (SELECT every, best, '({name} : (' || start || '))' AS begins, ${within.join(', ')} FROM ${answer})
),
found (search_id, typos, field) AS MATERIALIZED (
  SELECT f.rowid, k.key >= ${parts.length}, k.key % ${parts.length}
  FROM asked_of q CROSS JOIN json_each(q.queries) k CROSS JOIN search_terms f
  WHERE search_terms MATCH k.value
)`;
}

/** Where something was found, by the number of its part. */
export const fields = ['name', 'city', 'title', 'venue', 'tagline', 'summary'] as const;

const chord2 = '(l.x - @x) * (l.x - @x) + (l.y - @y) * (l.y - @y) + (l.z - @z) * (l.z - @z)';

const boxes = `(
    SELECT product_id, x, y, z FROM product_places
    WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west AND min_longitude <= @east
    UNION ALL
    SELECT product_id, x, y, z FROM product_places
    WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west_beyond AND min_longitude <= @east_beyond
  ) l`;

/**
 * Returns all that was found, in the table `hit`: what narrows most is asked first, and everything else is looked up by
 * key.
 */
function hitSql(form: Form, columns: Columns): string {
  const { text, near, filters, order } = form;
  const first = text ? 'e' : near ? 'l' : 'p';
  const id = `${first}.product_id`;
  const conditions = filterSql(filters, id, columns);
  const needsProduct = !text || conditions.some((condition) => /\bp\./.test(condition));
  const tables = [
    text && 'found f CROSS JOIN search_entries e ON e.search_id = f.search_id AND e.language = @language',
    near && (text ? `product_places l ON l.product_id = ${id}` : boxes),
    needsProduct && (first === 'p' ? 'products p' : `products p ON p.product_id = ${id} AND p.language = @language`),
    `product_popularity r ON r.product_id = ${id}`,
  ];
  const where = [first === 'p' && 'p.language = @language', near && `${chord2} <= @chord2`, ...conditions];
  const price = order === 'price' || order === 'price_down' ? printedSql(columns, id, filters.dates).price : 'NULL';
  return `hit AS MATERIALIZED (
  SELECT ${id} AS product_id, ${text ? 'f.typos AS typos, f.field AS field' : '0 AS typos, NULL AS field'}, r.sellable, r.place,
    r.weighed_rating, r.rating_count, ${near ? chord2 : 'NULL'} AS chord2, ${price} AS price
  FROM ${tables.filter((each) => each !== false).join('\n  CROSS JOIN ')}
  WHERE ${where.filter((each) => each !== false).join(' AND ') || 'true'}
)`;
}

const orderSql: Readonly<Record<Order, string>> = {
  relevance: 'h.typos, h.field, h.sellable DESC, h.place, h.product_id',
  popularity: 'h.sellable DESC, h.place, h.product_id',
  price: 'h.sellable DESC, h.price NULLS LAST, h.typos, h.field, h.place, h.product_id',
  price_down: 'h.sellable DESC, h.price DESC NULLS LAST, h.typos, h.field, h.place, h.product_id',
  rating: 'h.sellable DESC, h.rating_count IS NULL, h.weighed_rating DESC, h.typos, h.field, h.place, h.product_id',
  distance: 'h.sellable DESC, h.chord2, h.typos, h.field, h.place, h.product_id',
};

/** Returns a page of what was found, each with how many there are in all. */
export function pageSql(form: Form, columns: Columns): string {
  const order = orderSql[form.order];
  const { dates } = form.filters;
  const printed = printedSql(columns, 'h.product_id', dates);
  const date = dates
    ? '(SELECT min(b.date) FROM bookable_days b WHERE b.product_id = h.product_id AND b.currency = @currency AND b.date BETWEEN @from AND @to)'
    : 'NULL';
  return `WITH ${form.text ? `${foundSql()},\n` : ''}${hitSql(form, columns)}
SELECT p.product_id, p.language, p.language_shown, p.title, p.tagline, p.city_id, p.city_name, p.country_id, p.country_name, p.latitude, p.longitude,
  p.sellable, p.rating, h.rating_count, h.place, h.typos, h.field, ${printed.price} AS price,
  ${printed.type} AS price_variant_type, @currency AS currency,
  ${date} AS date, h.chord2, p.checked_at, p.stale, (SELECT count(*) FROM hit) AS total
FROM (SELECT * FROM hit h ORDER BY ${order} LIMIT @limit OFFSET @offset) h
CROSS JOIN products p ON p.product_id = h.product_id AND p.language = @language
ORDER BY ${order}`;
}

export function totalSql(form: Form, columns: Columns): string {
  return `WITH ${form.text ? `${foundSql()},\n` : ''}${hitSql(form, columns)} SELECT count(*) AS total FROM hit`;
}

/** At most so many products are counted by facets. */
const mostCounted = 10_000;
const mostValues = 50;

/** Returns how many of what was found there are by each of these, the most first. */
export function facetSql(form: Form, columns: Columns): string {
  const ranked = (facet: string, id: string, name: string, from: string) =>
    `SELECT * FROM (SELECT '${facet}' AS facet, ${id} AS id, ${name} AS name, count(*) AS count FROM ${from} GROUP BY 2 ORDER BY 4 DESC, 2 LIMIT ${mostValues})`;
  const steps = [0, 1, 2, 5]
    .flatMap((step) => (step === 0 ? [0] : [3, 4, 5, 6].map((power) => step * 10 ** power)))
    .sort((a, b) => b - a);
  const band = `CASE ${steps.map((step) => `WHEN price >= ${step} THEN ${step}`).join(' ')} END`;
  return `WITH ${form.text ? `${foundSql()},\n` : ''}${hitSql(form, columns)},
fact AS MATERIALIZED (
  SELECT p.product_id, p.city_id, p.city_name, p.country_id, p.country_name, p.rating, ${printedSql(columns, 'h.product_id', form.filters.dates).price} AS price
  FROM (SELECT product_id FROM hit h ORDER BY ${orderSql[form.order]} LIMIT ${mostCounted}) h
  CROSS JOIN products p ON p.product_id = h.product_id AND p.language = @language
)
${[
  ranked('city', 'city_id', 'max(city_name)', 'fact WHERE city_id IS NOT NULL'),
  ranked('country', 'country_id', 'max(country_name)', 'fact WHERE country_id IS NOT NULL'),
  ranked('tag', 'g.tag_id', 'NULL', 'fact CROSS JOIN product_tags g ON g.product_id = fact.product_id'),
  ranked('price', band, 'NULL', 'fact WHERE price >= 0'),
  ranked('rating', 'CAST(rating * 2 AS INTEGER) / 2.0', 'NULL', 'fact WHERE rating IS NOT NULL'),
].join('\nUNION ALL ')}`;
}
