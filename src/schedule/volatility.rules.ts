import { hourMs } from '../kernel/clock.ts';
/*
 * Estimates how often a record changes, from its own reads, and the value of a read.
 *
 * The model: a record changes at the instants of a Poisson process with an unknown rate. The estimate of the rate is a
 * Gamma distribution: two numbers per record. A read yields one bit: changed since the last read, or not.
 *
 * With rate r, a record read t ago is outdated with probability 1 - exp(-rt). As the rate is Gamma(shape, exposure),
 * the probability that the record is still up to date is
 *
 *     S(t) = (exposure / (exposure + t)) ^ shape
 *
 * A record that is read every t is outdated for a share of 1 - (1/t) ∫S of the time. Minimising the weighted sum of
 * these shares under a fixed number of calls, sum 1/t, gives by Lagrange one price of a call that is the same for all:
 *
 *     read when  weight · V(t) ≥ price,   V(t) = ∫₀ᵗ S(s) ds − t · S(t)
 *
 * For a known rate V(t) = (1 − e^(−rt)(1 + rt)) / r, which is the optimum of Cho and Garcia-Molina, "Effective Page
 * Refresh Policies for Web Crawlers" (ACM TODS 28:4, 2003) and the crawl value of Azar, Horvitz, Lubetzky, Peres and
 * Shahaf, "Tractable near-optimal policies for crawling" (PNAS 115:32, 2018). The same threshold with uncertain
 * signals: Busa-Fekete et al. (2025), arXiv 2502.02430. The expectation is taken over the distribution instead of a
 * point estimate, so a record of which little is known is read more often than its mean rate would require.
 */

/** Estimate of a record's change rate: Gamma distributed, mean `shape / exposure` changes a millisecond. */
export interface Volatility {
  readonly shape: number;
  /** Milliseconds. */
  readonly exposure: number;
}

/** Returns the estimate for a record that was never read, by how near its dates are. */
export function priorVolatility(tier: 'near' | 'far' | 'weekly'): Volatility {
  const exposure = { near: 30, far: 120, weekly: 700 }[tier] * hourMs;
  return { shape: 0.5, exposure };
}

/** Time over which the estimate decays towards the prior, so that a rate which has changed is learned again. */
const memoryMs = 10 * 24 * hourMs;

/**
 * Returns the estimate after a read `elapsed` ms after the last one. Unchanged: the exposure grows. Changed: the exact
 * posterior is a difference of two Gammas; it is approximated by the Gamma of the same mean and variance.
 */
export function afterVisit(
  { shape, exposure }: Volatility,
  elapsed: number,
  changed: boolean,
  prior: Volatility,
): Volatility {
  if (!(elapsed > 0)) return { shape, exposure };
  const seen = changed ? afterChange(shape, exposure, elapsed) : { shape, exposure: exposure + elapsed };
  const kept = Math.exp(-elapsed / memoryMs);
  return {
    shape: prior.shape + (seen.shape - prior.shape) * kept,
    exposure: prior.exposure + (seen.exposure - prior.exposure) * kept,
  };
}

function afterChange(shape: number, exposure: number, elapsed: number): Volatility {
  const later = exposure + elapsed;
  const still = (exposure / later) ** shape;
  // Moments of  [Gamma(shape, exposure) − still · Gamma(shape, exposure + elapsed)] / (1 − still).
  const mean = (shape * (1 / exposure - still / later)) / (1 - still);
  const square = (shape * (shape + 1) * (1 / exposure ** 2 - still / later ** 2)) / (1 - still);
  const variance = Math.max(square - mean * mean, mean * mean * 1e-6);
  return { shape: (mean * mean) / variance, exposure: mean / variance };
}

/** Returns the probability that a record is still as it was read `elapsed` ms ago. */
export function stillTrue({ shape, exposure }: Volatility, elapsed: number): number {
  return (exposure / (exposure + elapsed)) ** shape;
}

/** Returns the expected number of changes in an interval in which there was at least one. */
export function changesWithin(volatility: Volatility, elapsed: number): number {
  const changed = 1 - stillTrue(volatility, elapsed);
  return changed < 1e-9 ? 1 : ((volatility.shape / volatility.exposure) * elapsed) / changed;
}

/** Returns the share of the time in which a record read every `interval` ms is outdated. */
export function staleShare(volatility: Volatility, interval: number): number {
  return 1 - trueTime(volatility, interval) / interval;
}

/** Least probability of a change at which a read is not wasted. */
const leastLikely = 0.01;

/** Returns the milliseconds after its last read at which a change of the record is likely enough for another read. */
function likelyAfter({ shape, exposure }: Volatility): number {
  return exposure * Math.expm1(-Math.log1p(-leastLikely) / shape);
}

/** Returns the expected number of changes a day. */
export function changesPerDay({ shape, exposure }: Volatility): number {
  return (shape / exposure) * 24 * hourMs;
}

/**
 * Returns the value of a read `elapsed` ms after the last one: milliseconds of outdated time avoided. Grows with
 * `elapsed`.
 */
export function visitValue(volatility: Volatility, elapsed: number): number {
  return trueTime(volatility, elapsed) - elapsed * stillTrue(volatility, elapsed);
}

/** Returns ∫S: the part of the time since its last read for which a record is expected to have been up to date. */
function trueTime({ shape, exposure }: Volatility, elapsed: number): number {
  const grown = Math.log1p(elapsed / exposure);
  const rest = shape - 1;
  // For a shape near 1 the closed form divides zero by zero, and its limit is a logarithm.
  return Math.abs(rest * grown) < 1e-6 ? exposure * grown : (-exposure * Math.expm1(-rest * grown)) / rest;
}

/**
 * Returns the interval at which the value of a read reaches its price, within `floor` and `cap`, and not before a
 * change is likely enough. All are in milliseconds; the price is per unit of weight 1.
 */
export function worthwhileInterval(
  volatility: Volatility,
  { weight, price, floor, cap }: { weight: number; price: number; floor: number; cap: number },
): number {
  const wanted = price / weight;
  if (!(visitValue(volatility, cap) > wanted)) return cap;
  const least = Math.max(floor, likelyAfter(volatility));
  if (least >= cap || visitValue(volatility, least) >= wanted) return Math.min(least, cap);
  let [low, high] = [Math.log(least), Math.log(cap)];
  // Fourteen halvings of a factor of at most 5000: exact to less than a tenth of a percent.
  for (let step = 0; step < 14; step += 1) {
    const middle = (low + high) / 2;
    if (visitValue(volatility, Math.exp(middle)) < wanted) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}
