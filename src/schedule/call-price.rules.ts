import { type PlannedSignal, planReads } from './signal.rules.ts';
import { staleShare, type Volatility } from './volatility.rules.ts';

/*
 * The price of a call: the one number by which adaptive scheduling compares records. It is set so that the demand of
 * all records at that price equals the calls that may be spent. The demand is stored as a curve over several prices, so
 * that the price follows at once when the calls that may be spent change.
 */

/** Facts about a record from which its demand follows. */
export interface Priced {
  readonly volatility: Volatility;
  readonly weight: number;
  /** Longest time between two reads (its cadence), and the shortest, in milliseconds. */
  readonly cap: number;
  readonly floor: number;
  /** Signal about it; null or left out if there is none. */
  readonly watch?: PlannedSignal | null;
}

/** Demand of a number of records at several prices, which ascend. */
export interface Demand {
  readonly prices: readonly number[];
  /** Calls a millisecond that the cadences alone need, and that are wanted at each price. */
  readonly needed: number;
  readonly asked: readonly number[];
  /**
   * Sums over the records, weighted by their weights, of the share of time in which the data shown is outdated,
   * estimated from the records' histories: with the cadences alone (`stale_needed`), and at each price (`stale`).
   * `weight` is the sum of the weights.
   */
  readonly weight: number;
  readonly stale_needed: number;
  readonly stale: readonly number[];
}

/** Price at which no record is worth an extra call. */
export const noExtraCalls = Number.MAX_VALUE;

/** Price below which all records are read as often as they may be. */
const leastPrice = 0.01;

/** Returns prices around `price`: close ones, as it may be nearly right; over a wide range if it is null. */
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
 * Returns the price at which records want `extra` calls a millisecond beyond those of the cadences. It is interpolated
 * between the logarithms of two prices, and beyond the last price at most doubled.
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
 * Returns the share of shoppers' time in which outdated data is shown if `extra` calls a millisecond are spent; null if
 * there are no records.
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

/** Returns the most extra calls a millisecond that records would ever want. */
export function mostExtra({ needed, asked }: Demand): number {
  return Math.max(0, ...asked.map((calls) => calls - needed));
}
