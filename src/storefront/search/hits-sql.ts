import { type PrintedSql, printedOfDate, printedOfDates, printedOfProduct } from '../printed-sql.ts';
import type { Filters, Order, SearchQuestion } from './question.ts';

/** Parts that a search has. Each form is one statement, prepared once. */
export interface Form {
  readonly text: boolean;
  readonly near: boolean;
  readonly facets: boolean;
  readonly order: Order;
  readonly filters: FilterForm;
}

export interface FilterForm
  extends Readonly<Record<'city' | 'country' | 'tag' | 'rating' | 'least' | 'most' | 'sellable', boolean>> {
  readonly dates: 'none' | 'one' | 'several';
}

export function formOf(question: SearchQuestion, text: boolean): Form {
  return {
    text,
    near: question.near !== undefined,
    facets: question.facets === true,
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
    dates:
      (given.from ?? given.to) === undefined
        ? 'none'
        : (given.from ?? given.to) === (given.to ?? given.from)
          ? 'one'
          : 'several',
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

function printedSql(id: string, dates: FilterForm['dates']): PrintedSql {
  return dates === 'none' ? printedOfProduct(id) : printedOfDates(id);
}

/**
 * Returns the conditions of filters, about a product: its row of `products`, or the narrower one of `product_popularity`.
 * `day`: the row of `bookable_days` that is joined, where one date is asked for.
 */
export function filterSql(form: FilterForm, row: 'p' | 'r', day: 'b' | null = null): string[] {
  const id = `${row}.product_id`;
  const { price } = day === null ? printedSql(id, form.dates) : printedOfDate(day);
  const conditions = [
    form.city && `${row}.city_id = @city_id`,
    form.country && `${row}.country_id = @country_id`,
    form.rating && `${row}.rating >= @min_rating`,
    form.sellable && `${row}.sellable = 1`,
    form.tag && `EXISTS (SELECT 1 FROM product_tags g WHERE g.product_id = ${id} AND g.tag_id = @tag_id)`,
    // A price is one of these dates.
    form.dates !== 'none' &&
      day === null &&
      !form.least &&
      !form.most &&
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

/** A page: where fewer products than this have every word, those that have some of them follow. */
const fewFound = 20;

/** The weight of all words together: more than any sum of theirs. */
const wholeWeight = 1_000_000;

/** Sets of words that weigh so much less than the heaviest one are worth the same: between them popularity decides. */
const aboutTheSame = 4;

/** The weight of lying in the city or country that was typed: three times that of a rare word. */
const placeWeight = 24;

/** Of a part `p`: whether a product is found by this word alone. The others only add to the weight of what is found. */
const telling = `(p.value ->> 'within' <> '' OR 2 * (p.value ->> 'weight') > (SELECT max(x.value ->> 'weight') FROM json_each(parts) x))`;

/**
 * Where the sums of a product stand in one number: its weight, and from these bits on the others, 8 bits each. To add up
 * one column takes a third of the time of five. Of what has every word only the weight is added here.
 */
const shifts = { typos: 24, places: 32, extra: 40, kept: 48 } as const;

const packed = `weight + ${Object.entries(shifts)
  .map(([name, bits]) => `(${name} << ${bits})`)
  .join(' + ')}`;

/** Columns with the query for every word, in each part of a product. */
const inParts = scopes.map((_, index) => `s${index}`);
/** The same of one part and no part before it, in the order of `fields`. */
const inNoPartBefore = [
  's0',
  ...scopes.slice(1).map((_, index) => `s${index + 1} || ' NOT ' || s${index}`),
  `'(' || every || ') NOT ' || s${scopes.length - 1}`,
];

/** The queries over a product's words, each with what it adds to the weight of what it finds. */
const askedFor = {
  everyWord: `SELECT CASE WHEN best = every THEN k.value ELSE '(' || k.value || ')' || s.column1 || '(' || best || ')' END AS query, ${wholeWeight} AS weight, 0 AS typos,
      0 AS places, 0 AS extra, 0 AS kept,
      (SELECT sum(max(p.value ->> 'cost', 1) - 1) FROM json_each(parts) p) + (s.column1 = ' NOT ') AS all_typos, k.key AS field
    FROM json_each(CASE WHEN few THEN json_array(${[...inParts, "'(' || every || ')'"].join(', ')})
      ELSE json_array(${inNoPartBefore.join(', ')}) END) k CROSS JOIN (VALUES (' AND '), (' NOT ')) s
    WHERE s.column1 = ' AND ' OR best <> every`,
  cityOrCountryTyped: `SELECT '{city country} : (' || (p.value ->> 'within') || ')', ${placeWeight}, 0, 1, 0, 0, NULL, NULL
    FROM json_each(parts) p WHERE p.value ->> 'within' <> ''`,
  genericWords: `SELECT '({title} : ' || (x.value ->> 0) || ') AND (' || telling || ')', x.value ->> 1, 0, 0, x.value ->> 1, 0, NULL, NULL
    FROM json_each(extras) x`,
  /** Only where few products have every word. */
  someWords: `SELECT '((' || k.value || (p.value ->> 'every') || ')' || CASE k.key WHEN 2 THEN ')'
          ELSE ' NOT (' || CASE k.key WHEN 0 THEN '${scopes[1]} : ' ELSE '${scopes[0]} : ' END || (p.value ->> 'every') || '))' END
        || CASE WHEN ${telling} THEN '' ELSE ' AND (' || telling || ')' END,
      (p.value ->> 'weight') * (1 + k.key), max(p.value ->> 'cost', 1) - 1, 0, 0, 1 << (p.value ->> 'n'), NULL, NULL
    FROM json_each(parts) p CROSS JOIN json_each('["", "${scopes[1]} : ", "${scopes[0]} : "]') k
    WHERE json_array_length(parts) > 1 AND few
    UNION ALL
    SELECT '(' || (p.value ->> 'every') || ' NOT ' || (p.value ->> 'best') || ')', 0, 1, 0, 0, 0, NULL, NULL
    FROM json_each(parts) p WHERE p.value ->> 'every' <> p.value ->> 'best' AND json_array_length(parts) > 1 AND few`,
};

/**
 * Finds the products that have every word, part by part: those that have them in a part, and not in one before it. Where a
 * word has several readings, those with the likeliest of each come first. Where few are found, those follow that have some of the
 * words, by the weight of the words that they have: a word in the name, which is part of the title, counts three times, in
 * the title twice, however it was matched; a less likely reading counts as a typo. Each word is asked for in each place apart, so
 * that each product is met once. Generic
 * words (`extras`) find nothing, and add to the weight. SQLite makes each reference to a part of the statement anew, and refuses a
 * thousand cursors: a long chain is referred to once or twice. `answer` has the columns `every`, `best`, `parts` and `extras` of what was
 * understood.
 */
export function foundSql(
  answer = '(SELECT @every AS every, @best AS best, @parts AS parts, @extras AS extras)',
): string {
  const within = scopes.map((scope, index) => `'(${scope} : (' || every || '))' AS s${index}`);
  return `whole (every, best, parts, extras, telling, kept, few) AS MATERIALIZED (
  SELECT every, best, parts, extras, (SELECT group_concat(p.value ->> 'every', ' OR ') FROM json_each(parts) p WHERE ${telling}),
    (SELECT sum(1 << (p.value ->> 'n')) FROM json_each(parts) p),
    ${fewFound} > (SELECT count(*) FROM (
      SELECT 1 FROM search_terms f CROSS JOIN search_entries e ON e.search_id = f.rowid AND e.language = @language
      WHERE search_terms MATCH every LIMIT ${fewFound}))
  FROM ${answer}
),
asked_of (queries, kept) AS MATERIALIZED (
  SELECT (SELECT json_group_array(json_array(query, ${packed}, all_typos, field)) FROM (
    ${Object.values(askedFor).join('\n    UNION ALL\n    ')}
  )), kept
  FROM (SELECT *, ${within.join(', ')} FROM whole)
),
sought (query, packed, typos, field, all_kept) AS MATERIALIZED (
  SELECT k.value ->> 0, k.value ->> 1, k.value ->> 2, k.value ->> 3, q.kept FROM asked_of q CROSS JOIN json_each(q.queries) k
),
counted (search_id, packed, typos, field, all_kept) AS (
  SELECT f.rowid, sum(s.packed), min(s.typos), min(s.field), max(s.all_kept)
  FROM sought s CROSS JOIN search_terms f
  WHERE search_terms MATCH s.query
  GROUP BY f.rowid HAVING min(s.typos) IS NOT NULL OR sum(s.packed) >> ${shifts.kept} > 0
),
spoken (product_id, weight, typos, field, places, extra, kept) AS MATERIALIZED (
  SELECT e.product_id, CASE WHEN c.typos IS NULL THEN c.packed & ${(1 << shifts.typos) - 1} ELSE ${wholeWeight} END, COALESCE(c.typos, c.packed >> ${shifts.typos} & 255),
    c.field, c.packed >> ${shifts.places} & 255, c.packed >> ${shifts.extra} & 255,
    CASE WHEN c.typos IS NULL THEN c.packed >> ${shifts.kept} ELSE c.all_kept END
  FROM counted c CROSS JOIN search_entries e ON e.search_id = c.search_id AND e.language = @language
),
heaviest (weight) AS MATERIALIZED (SELECT max(weight) FROM spoken WHERE weight < ${wholeWeight}),
found (product_id, weight, typos, field, places, extra, kept) AS (
  SELECT s.product_id, CASE s.weight WHEN ${wholeWeight} THEN 1 ELSE (s.weight - h.weight) / ${aboutTheSame} END, s.typos, s.field, s.places, s.extra, s.kept
  FROM spoken s CROSS JOIN heaviest h WHERE s.weight = ${wholeWeight} OR 2 * s.weight >= h.weight
)`;
}

/** At most so many products are counted by facets: the first ones, where there are more. */
const mostCounted = 10_000;

/** Fields in which a product's words are found: the first of these that, with those before it, has every word. */
export const fields = ['name', 'title', 'venue', 'tagline', 'summary'] as const;

/** The square of the straight line to a product `l`, on a globe of radius 1. */
export const chord2 = '(l.x - @x) * (l.x - @x) + (l.y - @y) * (l.y - @y) + (l.z - @z) * (l.z - @z)';

/** The products in the boxes around a place, as the table `l`. */
export const boxes = `(
  SELECT product_id, x, y, z FROM product_places
  WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west AND min_longitude <= @east
  UNION ALL
  SELECT product_id, x, y, z FROM product_places
  WHERE max_latitude >= @south AND min_latitude <= @north AND max_longitude >= @west_beyond AND min_longitude <= @east_beyond
) l`;

/** The products near a place: a set, asked for once. To look each hit up in the R*Tree by its id costs five times as much. */
const nearby = `(SELECT product_id FROM ${boxes} WHERE ${chord2} <= @chord2)`;

/** Returns SQL for the distance to a product; NULL if no place was asked for. */
function awaySql(near: boolean, id: string): string {
  return near ? `(SELECT ${chord2} FROM product_places l WHERE l.product_id = ${id})` : 'NULL';
}

/**
 * Returns the query of all that was found, the table `hit`: what narrows most is asked first, and everything else is looked
 * up by key. Who names it twice has it `AS MATERIALIZED`: else it is asked twice.
 */
function hitSql(form: Form): string {
  const { text, near, filters, order, facets } = form;
  const day = filters.dates === 'one' ? 'b' : null;
  const first = text ? 'f' : (day ?? 'r');
  const on = `.product_id = ${first}.product_id`;
  const tables = [
    text && 'found f',
    day && (first === 'b' ? 'bookable_days b' : `bookable_days b ON b${on}`),
    first === 'r' ? 'product_popularity r' : `product_popularity r ON r${on}`,
  ];
  const where = [
    day && 'b.currency = @currency AND b.date = @from',
    // The plus: what is found by words or by a day is looked up in the set, and not the set in what is far larger.
    near && `${first === 'r' ? '' : '+'}${first}.product_id IN ${nearby}`,
    ...filterSql(filters, 'r', day),
  ];
  const byPrice = order === 'price' || order === 'price_down';
  const ofDay = day === null ? printedSql('r.product_id', filters.dates) : printedOfDate(day);
  // Each column is computed for thousands of products.
  const columns = [
    text && 'f.weight, f.typos, f.field, f.places, f.extra, f.kept',
    facets && 'r.rating, r.city_id, r.country_id',
    order === 'rating' && 'r.weighed_rating',
    order === 'distance' && `${awaySql(near, 'r.product_id')} AS chord2`,
    byPrice && `${ofDay.price} AS price`,
  ];
  return `SELECT ${['r.product_id, r.sellable, r.place, r.rating_count', ...columns].filter((each) => typeof each === 'string').join(', ')}
FROM ${tables.filter((each) => typeof each === 'string').join('\n  CROSS JOIN ')}
WHERE ${where.filter((each) => typeof each === 'string').join(' AND ') || 'true'}`;
}

/** Sorts products with every word first; among those, products in the city or country that was typed. */
export const relevanceSql = 'h.weight DESC, h.typos, h.places DESC, h.field, h.extra DESC';

/** Returns the order of hits. Without words all are as relevant as each other. */
function orderSql({ order, text }: Form): string {
  const relevance = text ? `${relevanceSql}, ` : '';
  switch (order) {
    case 'relevance':
      return `${relevance}h.sellable DESC, h.place, h.product_id`;
    case 'popularity':
      return 'h.sellable DESC, h.place, h.product_id';
    case 'price':
      return `h.sellable DESC, h.price NULLS LAST, ${relevance}h.place, h.product_id`;
    case 'price_down':
      return `h.sellable DESC, h.price DESC NULLS LAST, ${relevance}h.place, h.product_id`;
    case 'rating':
      return `h.sellable DESC, h.rating_count IS NULL, h.weighed_rating DESC, ${relevance}h.place, h.product_id`;
    case 'distance':
      return `h.sellable DESC, h.chord2, ${relevance}h.place, h.product_id`;
  }
}

/** Returns whether a search may leave out products. */
function isNarrowed({ text, near, filters: { dates, ...others } }: Form): boolean {
  return text || near || dates !== 'none' || Object.values(others).includes(true);
}

/** Form of the ranks of a page. */
export interface RankForm extends Form {
  /** The page is the first one: where it is in the order of relevance, its first hit is the best one of all. */
  readonly first: boolean;
}

/**
 * Returns the products of a page in their order, each with how many there are in all. With facets, one row has `counted`:
 * the values to count, if there are not more products than are counted. Where neither prices nor dates matter, it does
 * not ask the clock.
 */
export function rankSql({ first, ...form }: RankForm): string {
  const order = orderSql(form);
  const { text, facets } = form;
  const best =
    first && form.order === 'relevance'
      ? 'h.kept'
      : `(SELECT kept FROM hit h ORDER BY ${orderSql({ ...form, order: 'relevance' })} LIMIT 1)`;
  const counted = facets
    ? `CASE WHEN h.nth = 1 AND (SELECT count(*) FROM hit) <= ${mostCounted} THEN (${countedSql(form, isNarrowed(form) ? 'hit' : 'every product')}) END`
    : 'NULL';
  const page = `SELECT * FROM hit h ORDER BY ${order} LIMIT @limit OFFSET @offset`;
  return `WITH ${text ? `${foundSql()},\n` : ''}hit AS MATERIALIZED (
${hitSql(form)}
)
SELECT h.product_id, h.rating_count, h.place, ${text ? `h.typos, h.field, ${best}` : '0 AS typos, NULL AS field, 0'} AS kept,
  (SELECT count(*) FROM hit) AS total, ${counted} AS counted
FROM (${facets ? `SELECT *, row_number() OVER () AS nth FROM (${page})` : page}) h
ORDER BY ${order}`;
}

/** Returns what a page shows. `@page` is JSON: an array for each product, with its id, rating_count, place, typos and field. */
export function pageSql({ near, filters: { dates } }: Form): string {
  const id = '(h.value ->> 0)';
  const printed = printedSql(id, dates);
  const date =
    dates !== 'none'
      ? `(SELECT min(b.date) FROM bookable_days b WHERE b.product_id = ${id} AND b.currency = @currency AND b.date BETWEEN @from AND @to)`
      : 'NULL';
  return `SELECT p.product_id, p.language, p.language_shown, p.title, p.tagline, p.city_id, p.city_name, p.country_id, p.country_name, p.latitude, p.longitude,
  p.sellable, p.rating, h.value ->> 1 AS rating_count, h.value ->> 2 AS place, h.value ->> 3 AS typos, h.value ->> 4 AS field, ${printed.price} AS price,
  ${printed.type} AS price_variant_type, @currency AS currency, ${date} AS date, ${awaySql(near, id)} AS chord2, p.checked_at, p.stale
FROM json_each(@page) h
CROSS JOIN products p ON p.product_id = h.value ->> 0 AND p.language = @language
ORDER BY h.key`;
}

export function totalSql(form: Form): string {
  return `WITH ${form.text ? `${foundSql()},\n` : ''}hit AS (${hitSql(form)}) SELECT count(*) AS total FROM hit`;
}

/**
 * Selects what there is to count of the products of a table, an array of five arrays: cities, countries, ratings, prices
 * and tags. Those of all products are read in a row, and not product by product.
 */
function countedSql({ filters }: Form, hits: 'hit' | 'fact' | 'every product'): string {
  const every = hits === 'every product';
  const table = every ? 'product_popularity' : hits;
  const prices = every
    ? '(SELECT json_group_array(COALESCE(c.lowest_adult_price, c.from_price)) FROM product_prices c WHERE c.currency = @currency)'
    : `json_group_array(${printedSql('h.product_id', filters.dates).price})`;
  const tagged = every ? 'product_tags g' : `${table} t CROSS JOIN product_tags g ON g.product_id = t.product_id`;
  const ofProducts = ['city_id', 'country_id', 'rating'].map((name) => `json_group_array(h.${name})`);
  const arrays = [...ofProducts, prices, `(SELECT json_group_array(g.tag_id) FROM ${tagged})`];
  return `SELECT '[' || ${arrays.join(" || ',' || ")} || ']' FROM ${table} h`;
}

/** Returns what there is to count of the first products, where more were found than are counted. */
export function facetSql(form: Form): string {
  return `WITH ${form.text ? `${foundSql()},\n` : ''}hit AS (
${hitSql(form)}
),
fact AS MATERIALIZED (SELECT * FROM hit h ORDER BY ${orderSql(form)} LIMIT ${mostCounted})
SELECT (${countedSql(form, 'fact')}) AS counted`;
}
