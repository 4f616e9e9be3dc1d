import { dayMs } from '../kernel/clock.ts';
import { decimalText, isMembers, type Members, parseExact } from '../kernel/values/exact-json.ts';

/*
 * Prices in a currency that is not the supplier's are converted by the service, and all of them move with the exchange
 * rate. Such a move is no change of a product: it is shown and announced, and teaches nothing about the product.
 */

/** The same price before and after, in minor units. */
export type PricePair = readonly [before: number, after: number];

/** Minor units by which rounding may move a price: it is rounded, and so is the one that it is a part of. */
const roundedBy = 2;
/** Share by which a rate seldom moves in a day. Over several days it wanders with the root of their number. */
const mostADay = 0.02;

/** Returns by which share a rate may have moved in a span of time. */
export function mostRateMove(elapsed: number): number {
  return mostADay * Math.sqrt(Math.max(1, elapsed / dayMs));
}

/** Prices that were read together. */
interface Priced {
  readonly pairs: readonly PricePair[];
}

/**
 * Returns those of some dates whose prices have moved by one ratio that a rate may have moved by. None if most of them
 * did not move.
 */
export function movedByRate<Date extends Priced>(dates: readonly Date[], most: number): Date[] {
  const ratios = dates.flatMap(({ pairs }) => ratioOf(pairs) ?? []).sort((a, b) => a - b);
  const ratio = ratios[Math.floor(ratios.length / 2)] ?? 1;
  if (ratio === 1 || Math.abs(ratio - 1) > most) return [];
  return dates.filter(({ pairs }) => ratioOf(pairs) !== null && areMoved(pairs, ratio));
}

/** Returns the ratio of some prices together; null: there are none above 0. */
function ratioOf(pairs: readonly PricePair[]): number | null {
  const [before, after] = [0, 1].map((side) => pairs.reduce((sum, pair) => sum + (pair[side] ?? 0), 0)) as [
    number,
    number,
  ];
  return before > 0 && after > 0 ? after / before : null;
}

function areMoved(pairs: readonly PricePair[], ratio: number): boolean {
  return pairs.every(([before, after]) => Math.abs(after - before * ratio) <= roundedBy);
}

/** Members of a product's document that are converted. */
const converted: readonly string[] = ['price', 'prediscount_price', 'display_price', 'display_booking_fee'];

/** Differences between two documents of a product whose supplier has another currency. */
export interface RateDifference {
  /** True: the supplier's own price is the same, so that any other price has moved with the rate. */
  readonly prices: boolean;
  /** True: nothing else differs either. */
  readonly alone: boolean;
}

export const noRate: RateDifference = { prices: false, alone: false };

/** Returns whether a document, as it is stored, has prices that the service has converted to `currency`. */
export function isConverted(document: string, currency: string): boolean {
  return document.includes('"supplier_currency":"') && !document.includes(`"supplier_currency":"${currency}"`);
}

/** Compares two documents of a product of the same kind, with prices in `currency`. */
export function rateDifference(before: string | null, after: string, currency: string): RateDifference {
  if (before === null || before === after) return noRate;
  const [was, is] = [parseExact(before), parseExact(after)];
  if (!isMembers(was) || !isMembers(is)) return noRate;
  const supplier = is.supplier_currency;
  if (typeof supplier !== 'string' || supplier === currency || was.supplier_currency !== supplier) return noRate;
  const own = decimalText(is.price_in_supplier_currency);
  if (own === null || Number(own) !== Number(decimalText(was.price_in_supplier_currency) ?? Number.NaN)) return noRate;
  return { prices: true, alone: withoutPrices(was) === withoutPrices(is) };
}

function withoutPrices(document: Members): string {
  return JSON.stringify(Object.entries(document).filter(([name]) => !converted.includes(name)));
}
