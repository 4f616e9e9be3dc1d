import { ago, counted, number } from '../format.ts';
import type { BookableDays, LastHour, OnSale } from '../mirror/status/on-sale.ts';

/** Returns the figure to compare with: `12,100 a week ago`; null: no hour was recorded. */
export function earlierText(earlier: OnSale | null, figure: 'sellable' | 'days', now: number): string | null {
  if (earlier === null) return null;
  const at = ago(earlier.counted_at, now);
  return `${number(earlier[figure])} ${at === '7 d ago' ? 'a week ago' : at}`;
}

/** Returns the number of bookable days, and of a week ago. */
export function bookableText({ currency, days, earlier }: BookableDays, now: number): string {
  const before = earlierText(earlier, 'days', now);
  return `${counted(days, 'day')} in ${currency ?? 'no currency yet'}${before === null ? '' : `; ${before}`}`;
}

/** Names of one product and of several, by what became of it. */
const turnoverNames: readonly (readonly [of: keyof LastHour['turnover'], one: string, several: string])[] = [
  ['first_filled', 'product by the first fill', 'products by the first fill'],
  ['added', 'new product', 'new products'],
  ['withdrawn', 'product withdrawn', 'products withdrawn'],
  ['returned', 'product returned', 'products returned'],
  ['closed', 'product closed', 'products closed'],
  ['reopened', 'product opened', 'products opened'],
];

/** Names of one change and of several, by kinds of the feed. Changes without a name are counted together. */
const names: readonly (readonly [kinds: readonly string[], one: string, several: string])[] = [
  [['date_sold_out'], 'date sold out', 'dates sold out'],
  [['date_back'], 'date back', 'dates back'],
  [['date_added'], 'new date', 'new dates'],
  // Without those that the exchange rate has moved.
  [['price_changed', 'prices_changed'], 'price', 'prices'],
  [['held'], 'product held', 'products held'],
  [['image_added', 'image_withdrawn', 'image_credit_changed', 'images_changed'], 'image', 'images'],
];

/**
 * Returns the changes of the last hour: `2 dates sold out, 28 prices, 4 others`; null: there were none. A product that
 * was closed and opened again counts once, as opened.
 */
export function changesText({ changes, kinds, turnover, prices_by_rate }: LastHour): string | null {
  if (changes === 0) return null;
  const counted = (of: readonly string[]) =>
    kinds.filter(({ kind }) => of.includes(kind)).reduce((sum, each) => sum + each.changes, 0);
  const named = [
    ...turnoverNames.map(([of, one, several]) => ({ count: turnover[of], one, several })),
    ...names.map(([of, one, several]) => ({
      count: counted(of) - (of.includes('price_changed') ? prices_by_rate : 0),
      one,
      several,
    })),
    { count: prices_by_rate, one: 'price by the exchange rate', several: 'prices by the exchange rate' },
  ];
  const others = changes - named.reduce((sum, { count }) => sum + count, 0);
  return [...named, { count: others, one: 'other', several: 'others' }]
    .filter(({ count }) => count > 0)
    .map(({ count, one, several }) => `${number(count)} ${count === 1 ? one : several}`)
    .join(', ');
}
