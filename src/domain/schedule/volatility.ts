/*
 * How often a record changes, learned from its own visits, and what a visit is worth.
 *
 * The model: a record changes at the instants of a Poisson process whose rate is not known. What is believed of the
 * rate is a Gamma distribution, two numbers a record. A visit tells one bit: changed since the last one, or not.
 *
 * With rate r, a record read t ago is no longer true with probability 1 - exp(-rt). The rate being Gamma(shape,
 * exposure), the probability that it is still true is
 *
 *     S(t) = (exposure / (exposure + t)) ^ shape
 *
 * Who reads a record every t has it stale for a share of 1 - (1/t) ∫S of the time. Minimising the weighted sum of
 * these shares under a fixed number of calls, sum 1/t, gives by Lagrange one price of a call that is the same for all:
 *
 *     read when  weight · V(t) ≥ price,   V(t) = ∫₀ᵗ S(s) ds − t · S(t)
 *
 * For a known rate V(t) = (1 − e^(−rt)(1 + rt)) / r, which is the optimum of Cho and Garcia-Molina, "Effective Page
 * Refresh Policies for Web Crawlers" (ACM TODS 28:4, 2003) and the crawl value of Azar, Horvitz, Lubetzky, Peres and
 * Shahaf, "Tractable near-optimal policies for crawling" (PNAS 115:32, 2018); the same threshold with uncertain
 * signals: Busa-Fekete et al. (2025), arXiv 2502.02430. Taking the expectation over the belief instead of a point
 * estimate is what makes a record of which little is known be looked at more often than its mean rate would ask for.
 */

/** What is believed of a record's change rate: Gamma distributed, mean `shape / exposure` changes a millisecond. */
export interface Volatility {
  readonly shape: number;
  /** Milliseconds. */
  readonly exposure: number;
}

const hourMs = 3_600_000;

/** What is believed of a record that nobody has seen yet, by how near the dates are that it holds. */
export function priorVolatility(tier: 'near' | 'far' | 'weekly'): Volatility {
  const exposure = { near: 30, far: 120, weekly: 700 }[tier] * hourMs;
  return { shape: 0.5, exposure };
}

/** The belief forgets towards the prior over this time, so that a rate which has changed is learned again. */
const memoryMs = 10 * 24 * hourMs;

/**
 * Returns the belief after a visit `elapsed` ms after the last one. Unchanged: the exposure grows. Changed: the exact
 * posterior is a difference of two Gammas; the Gamma of the same mean and variance stands for it.
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

/** Returns the probability that a record is still what was read `elapsed` ms ago. */
export function stillTrue({ shape, exposure }: Volatility, elapsed: number): number {
  return (exposure / (exposure + elapsed)) ** shape;
}

/** Returns how many changes are expected in an interval in which there was one. */
export function changesWithin(volatility: Volatility, elapsed: number): number {
  const changed = 1 - stillTrue(volatility, elapsed);
  return changed < 1e-9 ? 1 : ((volatility.shape / volatility.exposure) * elapsed) / changed;
}

/** Returns the share of the time in which a record read every `interval` ms is no longer true. */
export function staleShare(volatility: Volatility, interval: number): number {
  return 1 - trueTime(volatility, interval) / interval;
}

/** A read before a change is this likely is spent on nothing. */
const leastLikely = 0.01;

/** Returns how long after its last read a change of the record is likely enough for another, in milliseconds. */
function likelyAfter({ shape, exposure }: Volatility): number {
  return exposure * Math.expm1(-Math.log1p(-leastLikely) / shape);
}

/** Expected changes a day. */
export function changesPerDay({ shape, exposure }: Volatility): number {
  return (shape / exposure) * 24 * hourMs;
}

/**
 * Returns what a visit `elapsed` ms after the last one is worth: milliseconds of staleness avoided. Grows with
 * `elapsed`.
 */
export function visitValue(volatility: Volatility, elapsed: number): number {
  return trueTime(volatility, elapsed) - elapsed * stillTrue(volatility, elapsed);
}

/** Returns ∫S: for how much of the time since its last read a record is expected to have been true. */
function trueTime({ shape, exposure }: Volatility, elapsed: number): number {
  const grown = Math.log1p(elapsed / exposure);
  const rest = shape - 1;
  // For a shape near 1 the closed form divides nought by nought, and its limit is a logarithm.
  return Math.abs(rest * grown) < 1e-6 ? exposure * grown : (-exposure * Math.expm1(-rest * grown)) / rest;
}

/**
 * Returns the interval at which a visit is worth its price, within `floor` and `cap`, and not before a change is at all
 * likely; all in milliseconds, the price per unit of weight 1.
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
  // Twelve halvings of at most a factor of 5000: closer than a tenth of a percent of the logarithm.
  for (let step = 0; step < 14; step += 1) {
    const middle = (low + high) / 2;
    if (visitValue(volatility, Math.exp(middle)) < wanted) low = middle;
    else high = middle;
  }
  return Math.exp((low + high) / 2);
}
