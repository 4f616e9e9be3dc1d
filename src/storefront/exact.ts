import { dayNumber, identifier, members, truth, wholeNumber } from './arguments.ts';
import type { Connection } from './connection.ts';
import type { Editions } from './editions.ts';
import { existing } from './existing.ts';
import { around, kilometres, type Near } from './near-place.ts';
import { printedOfDate, printedOfProduct } from './printed-sql.ts';
import { badArgument } from './problems.ts';
import { boxes, chord2, type FilterForm, filterBindings, filterForm, filterSql } from './search/hits-sql.ts';

/** Search question. All members that are set have to hold. One of text, near, city_id and date is needed. */
export interface ExactQuestion {
  /** Text as a person types it. Text without a word finds nothing unless something else is asked for. */
  readonly text?: string | undefined;
  readonly near?: Near | undefined;
  readonly city_id?: number | undefined;
  /** YYYY-MM-DD at the venue: only what has tickets left on that date, at that date's price. */
  readonly date?: string | undefined;
  /** Minor units of the currency. */
  readonly max_price?: number | undefined;
  /** True: only what is on sale at all. */
  readonly sellable?: boolean | undefined;
  readonly language?: string | undefined;
  readonly currency?: string | undefined;
  /** Absent: relevance. What is on sale comes first in each. */
  readonly order?: 'relevance' | 'price' | 'distance' | undefined;
  /** Absent: 20. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

const known: readonly (keyof ExactQuestion)[] = [
  'text',
  'near',
  'city_id',
  'date',
  'max_price',
  'sellable',
  'language',
  'currency',
  'order',
  'limit',
  'offset',
];

export interface ExactHit {
  readonly product_id: number;
  readonly language: string;
  readonly title: string | null;
  readonly tagline: string | null;
  readonly city_id: number | null;
  readonly city_name: string | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly sellable: 0 | 1;
  readonly rating: number | null;
  /** 0 to 1. */
  readonly popularity: number;
  /**
   * Price that a shop prints, in minor units of the currency: lowest_adult_price of the date, else of the product, else
   * from_price.
   */
  readonly price: number | null;
  /** Type that the price is for: adult, or another type if no adult can buy; null if it is from_price, or not stated. */
  readonly price_variant_type: string | null;
  readonly currency: string;
  /** Date that was asked for; null if none was. */
  readonly date: string | null;
  /** Along the ground; null: no place was asked for. */
  readonly distance_km: number | null;
  /** Of the date's read, where one was asked for, else of the product's. */
  readonly checked_at: number;
  readonly stale: 0 | 1;
}

type Found = Omit<ExactHit, 'distance_km'> & { readonly chord2: number | null };

export function exactSearcher(connection: Connection, editions: Editions): (question: ExactQuestion) => ExactHit[] {
  const named = existing(connection);
  const queries = connection.queries<Found, ExactForm>(exactSql);

  return (asked) => {
    const question = members('question', asked, known);
    checkQuestion(question);
    named(question);
    const { text, near, city_id, date, max_price, sellable, order = 'relevance' } = question;
    const match = text === undefined ? null : matchOf(text);
    const filters = { city_id, max_price, sellable, from: date };
    const form: ExactForm = { text: match !== null, near: near !== undefined, filters: filterForm(filters), order };
    const bound = {
      ...filterBindings(filters),
      ...(near === undefined ? {} : around(near)),
      match,
      language: editions.language(question.language),
      currency: editions.currency(question.currency),
      limit: wholeNumber('limit', question.limit, { least: 1, absent: 20 }),
      offset: wholeNumber('offset', question.offset, { most: 100_000 }),
    };
    if (!form.text && near === undefined && date === undefined && city_id === undefined) return [];
    return queries(form).all(bound).map(hitOf);
  };
}

function checkQuestion({ text, near, city_id, date, max_price, sellable, order = 'relevance' }: ExactQuestion): void {
  if (text === undefined && near === undefined && city_id === undefined && date === undefined)
    throw badArgument('the search has no condition', 'give text, near, city_id or date; products() lists all');
  if (!['relevance', 'price', 'distance'].includes(order))
    throw badArgument(`order: found "${String(order).slice(0, 60)}"`, 'give relevance, price or distance');
  if (order === 'distance' && near === undefined)
    throw badArgument('order: "distance" needs a place', 'give near as well');
  if (near === null) throw badArgument('near: found null', 'give latitude, longitude and km');
  if (text !== undefined && typeof text !== 'string')
    throw badArgument('text: found no text', 'give the text that was typed');
  if (date !== undefined) dayNumber('date', date);
  if (city_id !== undefined) identifier('city_id', city_id);
  wholeNumber('max_price', max_price, { most: Number.MAX_SAFE_INTEGER });
  if (sellable !== undefined) truth('sellable', sellable);
}

function hitOf({ chord2, ...found }: Found): ExactHit {
  return { ...found, distance_km: chord2 === null ? null : kilometres(chord2) };
}

/** Parts that a search has. Each form is one statement, prepared once. */
interface ExactForm {
  readonly text: boolean;
  readonly near: boolean;
  readonly filters: FilterForm;
  readonly order: 'relevance' | 'price' | 'distance';
}

/**
 * One statement over the views, of which docs/search.md shows the forms people need most. What narrows most is asked first
 * (words, then a place, then a city, then a date), by CROSS JOIN, and everything else is looked up by key. A date near a place
 * is asked for by its price, with the place as a set of products: twenty cheap ones are found long before all the others
 * there are looked up (`+` keeps the planner from doing that).
 */
function exactSql(form: ExactForm): string {
  const { text, near, filters } = form;
  const date = filters.dates === 'one';
  const printed = date ? printedOfDate('b') : printedOfProduct('p.product_id');
  const where = [
    'p.language = @language',
    text && 'product_search MATCH @match AND s.language = @language',
    near && `${chord2} <= @chord2`,
    near && date && !text && `+b.product_id IN (SELECT product_id FROM ${boxes})`,
    date && 'b.currency = @currency AND b.date = @from',
    ...filterSql(filters, 'p', date ? 'b' : null),
  ];
  return `SELECT p.product_id, p.language, p.title, p.tagline, p.city_id, p.city_name, p.latitude, p.longitude, p.sellable, p.rating,
  r.popularity, ${printed.price} AS price, ${printed.type} AS price_variant_type, @currency AS currency, ${date ? 'b.date' : 'NULL'} AS date, ${near ? chord2 : 'NULL'} AS chord2,
  ${date ? 'b' : 'p'}.checked_at, ${date ? 'b' : 'p'}.stale
FROM ${joins(form).join('\nCROSS JOIN ')}
WHERE ${where.filter((each) => each !== false).join(' AND ')}
ORDER BY ${orders(form, printed.price).join(', ')}
LIMIT @limit OFFSET @offset`;
}

function joins({ text, near, filters: { dates, city } }: ExactForm): string[] {
  const date = dates === 'one';
  const first = text ? 's' : date && (near || !city) ? 'b' : near ? 'l' : 'p';
  const on = `.product_id = ${first}.product_id`;
  const joined = [
    text && 'product_search s',
    first === 'b' && 'bookable_days b',
    near && (first === 'l' ? boxes : `product_places l ON l${on}`),
    first === 'p' && 'products p',
    date && first !== 'b' && `bookable_days b ON b${on}`,
    first !== 'p' && `products p ON p${on}`,
    `product_popularity r ON r${on}`,
  ];
  return joined.filter((each) => each !== false);
}

/** Sorts sellable products first. Equal products keep their order from page to page. */
function orders({ text, near, filters, order }: ExactForm, price: string): string[] {
  const by = {
    relevance: [],
    price: [`${price} NULLS LAST`, ...(near ? ['chord2'] : [])],
    distance: ['chord2'],
  };
  const relevance = text ? 's.rank * (1 + r.popularity)' : 'r.popularity DESC';
  return [...(filters.dates === 'none' ? ['p.sellable DESC'] : []), ...by[order], relevance, 'p.product_id'];
}

/** More words than anybody types: what follows is not looked at. */
const wordsAtMost = 12;
const mostLetters = 64;

/**
 * Returns what people type, as a question to `product_search`: every word has to be there, the last one may be the
 * beginning of one. No sign of it is ever syntax. Null: there is no word in it.
 */
export function matchOf(text: string): string | null {
  const words = text.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)?.slice(0, wordsAtMost) ?? [];
  if (words.length === 0) return null;
  const quoted = words.map((word) => `"${[...word.slice(0, 2 * mostLetters)].slice(0, mostLetters).join('')}"`);
  return `${quoted.join(' ')}*`;
}
