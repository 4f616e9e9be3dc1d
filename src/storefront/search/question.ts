import { dayNumber, identifier, inRange, truth, wholeNumber } from '../arguments.ts';
import type { Near } from '../near-place.ts';
import { badArgument } from '../problems.ts';

/** Filters that narrow products down. All filters that are set have to hold. */
export interface Filters {
  readonly city_id?: number | undefined;
  readonly country_id?: number | undefined;
  readonly tag_id?: number | undefined;
  /** Stars, 0 to 5: what nobody rated is left out. */
  readonly min_rating?: number | undefined;
  /** Minor units of the currency: of the price that is shown, of the dates where some are asked for. */
  readonly min_price?: number | undefined;
  readonly max_price?: number | undefined;
  /** YYYY-MM-DD at the venue: only what has tickets left on a date from `from` to `to`; one of them alone is that date. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** True: only what is on sale at all. */
  readonly sellable?: boolean | undefined;
}

export const filterNames = [
  'city_id', 'country_id', 'tag_id', 'min_rating', 'min_price', 'max_price', 'from', 'to', 'sellable',
] as const; // biome-ignore format: a list of members

export type Order = 'relevance' | 'popularity' | 'price' | 'price_down' | 'rating' | 'distance';

const orders: readonly Order[] = ['relevance', 'popularity', 'price', 'price_down', 'rating', 'distance'];

/** Search question. Without text and filters, it finds everything. */
export interface SearchQuestion extends Filters {
  /** Text as a person types it. Generic words, typos and beginnings of words are handled. */
  readonly text?: string | undefined;
  readonly near?: Near | undefined;
  readonly language?: string | undefined;
  readonly currency?: string | undefined;
  /** Absent: relevance. Products that are equal keep their order from page to page. */
  readonly order?: Order | undefined;
  /** True: how many of what was found there are by city, country, tag, price and rating. */
  readonly facets?: boolean | undefined;
  /** Absent: 20. */
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export const questionNames: readonly (keyof SearchQuestion)[] = [
  ...filterNames, 'text', 'near', 'language', 'currency', 'order', 'facets', 'limit', 'offset',
]; // biome-ignore format: a list of members

/** Throws `bad-argument` where no answer could be right. */
export function checkFilters({
  city_id,
  country_id,
  tag_id,
  min_rating,
  min_price,
  max_price,
  from,
  to,
  sellable,
}: Filters): void {
  for (const [name, value] of Object.entries({ city_id, country_id, tag_id }))
    if (value !== undefined) identifier(name, value);
  if (min_rating !== undefined) inRange('min_rating', min_rating, 0, 5);
  const most = Number.MAX_SAFE_INTEGER;
  const [least, greatest] = [
    wholeNumber('min_price', min_price, { most }),
    wholeNumber('max_price', max_price, { most, absent: most }),
  ];
  if (least > greatest) throw badArgument(`min_price ${least} is above max_price ${greatest}`, 'exchange the two');
  const first = from === undefined ? null : dayNumber('from', from);
  const last = to === undefined ? null : dayNumber('to', to);
  if (first !== null && last !== null && first > last)
    throw badArgument(`from ${from} is after to ${to}`, 'exchange the two');
  if (sellable !== undefined) truth('sellable', sellable);
}

export function checkQuestion({ text, near, order = 'relevance', facets, ...filters }: SearchQuestion): void {
  if (text !== undefined && typeof text !== 'string') throw badArgument('text: found no text', 'give what was typed');
  if (near === null) throw badArgument('near: found null', 'give latitude, longitude and km');
  if (!orders.includes(order))
    throw badArgument(`order: found "${String(order).slice(0, 60)}"`, `give one of ${orders.join(', ')}`);
  if (order === 'distance' && near === undefined)
    throw badArgument('order: "distance" from where?', 'give near as well');
  if (facets !== undefined) truth('facets', facets);
  checkFilters(filters);
}
