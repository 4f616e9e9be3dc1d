import { type Budget, lowest, type Tally } from './budget.ts';

/**
 * Time in which the rate grows from the start to the ceiling (`firstMs`). Growth from a cut back to the limit takes
 * `backMs` or `backCalls` calls at the limit, whichever is longer, but at most `latestMs`.
 */
const growth = { firstMs: 15_000, backMs: 1_000, backCalls: 30, latestMs: 20_000 };
/**
 * Movement of the limit, as shares of itself: up by the call and at least by the second, down with each throttle near
 * it that strays do not explain. So a real limit is met once in `down / upByCall` calls, however many strays there are.
 */
export const drift = {
  upByCall: 0.00008,
  upBySecond: 0.0002,
  guessedByCall: 0.0002,
  guessedBySecond: 0.02,
  strayTimes: 12,
  down: 0.03,
  downGuessed: 0.06,
};
/**
 * After this long, and this many calls, without a throttle at the limit, the rate probes upwards, faster and faster.
 */
const probe = { afterMs: 30_000, afterCalls: 800, latestMs: 300_000, share: 0.15, everyMs: 20_000 };
/**
 * This many more calls count as passed when the share of strays is computed, because few calls well below the limit
 * prove little.
 */
const doubt = 20;
/** Below this number of throttles none counts as a stray. */
const few = 0.9;
/**
 * Throttles near a limit that the limit itself explains: so many while it is found, and so many each time it is met. A
 * service that refuses everything for a while throttles a second call.
 */
const own = { finding: 2, met: 2 };
/** Strays that chance may have kept from the calls below the limit. */
const unseen = 2;

/**
 * Returns the budget after `ms` more milliseconds without a throttle: the rate grows fast to just below the last limit,
 * slowly around it, and then probes above it.
 */
export function grown(budget: Budget, demand: 'waiting' | 'none', ms: number): Budget {
  const { ceiling, cut_to } = budget;
  if (budget.limit === null) {
    const grown_ms = Math.min(budget.grown_ms + ms, growth.firstMs);
    const share = grown_ms / growth.firstMs;
    return { ...budget, grown_ms, rate: share === 1 ? ceiling : cut_to * (ceiling / cut_to) ** share };
  }
  const backMs = backAfter(budget.limit);
  const before = budget.grown_ms;
  const grown_ms = demand === 'waiting' ? before + ms : Math.max(before, Math.min(before + ms, backMs));
  const limit =
    Math.min(ceiling, budget.limit) *
    (1 + (upBySecond(budget, budget.limit) * Math.max(0, grown_ms - Math.max(before, backMs))) / 1000);
  const rate = Math.max(rateAfter({ ...budget, limit, grown_ms }), lowest(ceiling));
  // Nothing was throttled at the ceiling, so the service's limit is not below it.
  if (rate >= ceiling && grown_ms > backMs + staysAfter(limit))
    return { ...budget, rate: ceiling, limit: null, limit_is: 'guessed', cut_to: ceiling, grown_ms: 0 };
  return { ...budget, rate: Math.min(rate, ceiling), limit, grown_ms };
}

/**
 * Returns how fast the limit rises, in calls a second per second. A guessed limit rises fast because it is soon known
 * better; so does a limit that only strays support.
 */
function upBySecond(budget: Budget, limit: number): number {
  if (budget.limit_is === 'guessed') return Math.max(drift.guessedByCall * limit, drift.guessedBySecond);
  const times = realShare(budget) === 0 ? drift.strayTimes : 1;
  return times * Math.max(drift.upByCall * limit, drift.upBySecond);
}

function backAfter(limit: number): number {
  return Math.min(Math.max(growth.backMs, (1000 * growth.backCalls) / limit), growth.latestMs);
}

/** Returns whether the rate has come back to the limit since it was cut. */
export function isBack({ limit, grown_ms }: Budget): boolean {
  return limit === null || grown_ms >= backAfter(limit);
}

/** Returns for how many milliseconds a rate that came back to the limit stays around it. */
function staysAfter(limit: number): number {
  return Math.min(Math.max(probe.afterMs, (1000 * probe.afterCalls) / limit), probe.latestMs);
}

function rateAfter({ grown_ms, limit, limit_is, cut_to }: Budget & { limit: number }): number {
  const backMs = backAfter(limit);
  if (grown_ms < backMs) return limit - Math.max(0, limit - cut_to) * (1 - (grown_ms / backMs) ** 3);
  const over = grown_ms - backMs - (limit_is === 'guessed' ? 0 : staysAfter(limit));
  return over <= 0 ? limit : limit * (1 + probe.share * (over / probe.everyMs) ** 3);
}

/**
 * Returns the share of throttles near the limit that strays do not explain. Strays are estimated from the calls below
 * the limit that were throttled. While these calls are few, throttles near the limit that come more often than a real
 * limit is met count as strays too, as if up to `unseen` more had been throttled below it.
 */
export function realShare({ near, below }: Budget): number {
  if (near.throttled === 0) return 1;
  const expected = near.calls * strayShare(below);
  // Allows for as many more as chance may bring: to the calls near the limit, and to those below it.
  const chance = Math.sqrt(expected * (1 + near.calls / (below.calls + doubt))) / 2;
  const most = (near.calls * (below.throttled + unseen)) / (below.calls + doubt);
  const tooOften = near.throttled - own.finding - (own.met * near.calls * drift.upByCall) / drift.down;
  return Math.max(0, 1 - Math.max(expected + chance, Math.min(tooOften, most)) / near.throttled);
}

/**
 * Returns the share of calls that are throttled for no reason. Only calls well below the limit count, and 0 is returned
 * unless more than one of them was throttled.
 */
export function strayShare(below: Tally): number {
  return below.throttled < few ? 0 : below.throttled / (below.calls + doubt);
}
