import { planReads, type Watch } from './signal.ts';
import { staleShare, type Volatility } from './volatility.ts';

/*
 * The price of a call: the one number by which adaptive scheduling compares records. It is set so that the demand of
 * all records at that price equals the calls that may be spent. The demand is kept as a curve over several prices, so
 * that the price follows at once when fewer calls may be spent, or more.
 */

/** A record as the price sees it. */
export interface Priced {
  readonly volatility: Volatility;
  readonly weight: number;
  /** Never read later than this after the last read (its cadence), and never earlier than that, in milliseconds. */
  readonly cap: number;
  readonly floor: number;
  /** The signal about it; null or left out: there is none. */
  readonly watch?: Watch | null;
}

/** The demand of a number of records at several prices, which ascend. */
export interface Demand {
  readonly prices: readonly number[];
  /** Calls a millisecond that the cadences alone need, and at each price. */
  readonly needed: number;
  readonly asked: readonly number[];
  /**
   * The share of shoppers' time in which something shown is no longer true, as far as the records' histories tell: with
   * the cadences alone, and at each price; a sum over the records' weights, which are summed up beside it.
   */
  readonly weight: number;
  readonly stale_needed: number;
  readonly stale: readonly number[];
}

/** At this price no record is worth an extra call. */
export const noExtraCalls = Number.MAX_VALUE;

/** Cheaper than this all records are read as often as they may be. */
const leastPrice = 0.01;

/** Prices around one that may be far off (none known), or nearly right. */
export function pricesAround(price: number | null): number[] {
  return price === null
    ? Array.from({ length: 25 }, (_, step) => 10 ** (step / 2 - 2))
    : [1 / 16, 1 / 4, 1 / 2, 1 / 1.2, 1, 1.2, 2, 4, 16, 64].map((factor) => Math.max(price, leastPrice) * factor);
}

export function noDemand(prices: readonly number[]): Demand {
  const none = prices.map(() => 0);
  return { prices, needed: 0, asked: none, weight: 0, stale_needed: 0, stale: none };
}

/** Adds records to a demand, a few hundred at a time, so that the event loop is not blocked. */
export function addDemand(demand: Demand, records: readonly Priced[]): Demand {
  const [asked, stale] = [[...demand.asked], [...demand.stale]];
  let { needed, weight: total, stale_needed } = demand;
  for (const { volatility, weight, cap, floor, watch = null } of records) {
    needed += 1 / cap;
    total += weight;
    stale_needed += weight * staleShare(volatility, cap);
    for (const [index, price] of demand.prices.entries()) {
      const plan = planReads(volatility, { weight, price, floor, cap }, watch);
      asked[index] = (asked[index] ?? 0) + 1 / plan.mean;
      stale[index] = (stale[index] ?? 0) + weight * plan.stale;
    }
  }
  return { ...demand, needed, asked, weight: total, stale_needed, stale };
}

/**
 * Returns the price at which `extra` calls a millisecond are asked for beside those that the cadences need: between two
 * prices on a line of their logarithms, beyond the outermost at most their own distance further.
 */
export function clearingPrice({ needed, asked, prices }: Demand, extra: number): number {
  const target = needed + extra;
  if (prices.length === 0 || !(target > needed * (1 + 1e-9))) return noExtraCalls;
  const above = asked.findIndex((calls) => calls <= target);
  const last = prices.length - 1;
  if (above === 0) return prices[0] as number;
  if (above === -1) return (prices[last] as number) * 2;
  const [low, high] = [prices[above - 1] as number, prices[above] as number];
  const [more, less] = [asked[above - 1] as number, asked[above] as number];
  return low * (high / low) ** ((more - target) / Math.max(more - less, 1e-300));
}

/**
 * Returns the share of shoppers' time in which something shown is no longer true if `extra` calls a millisecond are
 * spent; null: no records.
 */
export function staleWith({ needed, asked, weight, stale_needed, stale }: Demand, extra: number): number | null {
  if (weight === 0) return null;
  const points = [...asked.map((calls, index) => [calls, stale[index] ?? 0] as const), [needed, stale_needed] as const];
  const target = needed + extra;
  const below = points.findIndex(([calls]) => calls <= target);
  const [more, less] = [points[below - 1], points[below] ?? points[points.length - 1]];
  if (more === undefined || less === undefined || more[0] === less[0]) return (less?.[1] ?? 0) / weight;
  const part = (Math.min(target, more[0]) - less[0]) / (more[0] - less[0]);
  return (less[1] + (more[1] - less[1]) * part) / weight;
}

/** Returns the most extra calls a millisecond that records would ever ask for. */
export function mostExtra({ needed, asked }: Demand): number {
  return Math.max(0, ...asked.map((calls) => calls - needed));
}
