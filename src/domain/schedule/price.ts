import { type Volatility, worthwhileInterval } from './volatility.ts';

/*
 * The price of a call: the one number by which adaptive scheduling compares records. It is set so that the demand of
 * all records at that price equals the calls that may be spent.
 */

/** A record as the price sees it. */
export interface Priced {
  readonly volatility: Volatility;
  readonly weight: number;
  /** Never read later than this after the last read (its cadence), and never earlier than that, in milliseconds. */
  readonly cap: number;
  readonly floor: number;
}

/** The demand of a number of records at several prices. */
export interface Demand {
  /** Calls a millisecond that the cadences alone need. */
  readonly needed: number;
  /** Calls a millisecond at each price of `prices`. */
  readonly asked: readonly number[];
  readonly prices: readonly number[];
}

/** At this price no record is worth an extra call. */
export const noExtraCalls = Number.MAX_VALUE;

/** Prices around one that may be far off (none known), or nearly right. */
export function pricesAround(price: number | null): number[] {
  return price === null
    ? Array.from({ length: 25 }, (_, step) => 10 ** (step / 2 - 2))
    : [price / 2, price / 1.2, price, price * 1.2, price * 2];
}

export function noDemand(prices: readonly number[]): Demand {
  return { needed: 0, asked: prices.map(() => 0), prices };
}

/** Adds records to a demand, a few hundred at a time, so that the event loop is not blocked. */
export function addDemand(demand: Demand, records: readonly Priced[]): Demand {
  const asked = [...demand.asked];
  let needed = demand.needed;
  for (const { volatility, weight, cap, floor } of records) {
    needed += 1 / cap;
    for (const [index, price] of demand.prices.entries())
      asked[index] = (asked[index] ?? 0) + 1 / worthwhileInterval(volatility, { weight, price, floor, cap });
  }
  return { ...demand, needed, asked };
}

/**
 * Returns the price at which `(1 + extra)` times what the cadences need is asked for, but no more than `most` calls a
 * millisecond: between two prices on a line of their logarithms, beyond the outermost at most their own distance
 * further.
 */
export function clearingPrice({ needed, asked, prices }: Demand, extra: number, most: number): number {
  const target = Math.min(needed * (1 + extra), most);
  if (prices.length === 0 || !(target > needed * (1 + 1e-9))) return noExtraCalls;
  const above = asked.findIndex((calls) => calls <= target);
  const last = prices.length - 1;
  if (above === 0) return prices[0] as number;
  if (above === -1) return (prices[last] as number) * 2;
  const [low, high] = [prices[above - 1] as number, prices[above] as number];
  const [more, less] = [asked[above - 1] as number, asked[above] as number];
  return low * (high / low) ** ((more - target) / Math.max(more - less, 1e-300));
}
