import { dayNumber, identifier, members, truth, wholeNumber } from './arguments.ts';
import type { Connection, Query } from './connection.ts';
import type { Editions } from './editions.ts';
import { type ExactForm, exactSql } from './exact-sql.ts';
import { existing } from './existing.ts';
import { around, kilometres, type Near } from './places.ts';
import { badArgument } from './problems.ts';
import { matchOf } from './words.ts';

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
  const queries = new Map<string, Query<object, Found>>();

  function queryFor(form: ExactForm): Query<object, Found> {
    const key = Object.values(form).join();
    const prepared = queries.get(key);
    if (prepared !== undefined) return prepared;
    const made = connection.query<object, Found>(exactSql(form));
    queries.set(key, made);
    return made;
  }

  return (asked) => {
    const question = members('question', asked, known);
    checkQuestion(question);
    named(question);
    const { text, near, city_id, date, max_price, order = 'relevance' } = question;
    const match = text === undefined ? null : matchOf(text);
    const form: ExactForm = {
      text: match !== null,
      near: near !== undefined,
      date: date !== undefined,
      city: city_id !== undefined,
      priced: max_price !== undefined,
      sellable: question.sellable === true,
      order,
    };
    const bound = {
      ...(near === undefined ? {} : around(near)),
      match,
      date,
      city_id,
      max_price,
      language: editions.language(question.language),
      currency: editions.currency(question.currency),
      limit: wholeNumber('limit', question.limit, { least: 1, absent: 20 }),
      offset: wholeNumber('offset', question.offset, { most: 100_000 }),
    };
    if (!(form.text || form.near || form.date || form.city)) return [];
    return queryFor(form).all(bound).map(hitOf);
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
