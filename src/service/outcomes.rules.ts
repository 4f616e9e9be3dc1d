import {
  type Budget,
  lengthened,
  longestWaitMs,
  lowest,
  nothing,
  pauseLeft,
  shortestRefusalMs,
  type Tally,
} from './budget.rules.ts';
import { doubtOf } from './rests.rules.ts';

/**
 * Factors of a cut: `single` of the limit after a single throttle, `many` of the delivered rate after many together;
 * the latter at most once in `apartMs`.
 */
const cut = { single: 0.85, many: 0.7, apartMs: 5_000 };
/**
 * Shares of throttled calls from which the limit is set to the delivered rate, because it has moved or was not known.
 * From `soon` on a second throttle came soon after the first.
 */
const many = { lately: 0.22, lastingly: 0.08, soon: 0.07 };
/** Share of the limit below which a throttle is not caused by the limit. */
const wellBelow = 0.95;
/** Number of calls near a limit after which the limit counts as held. */
const held = 10;
const memory = { lately: 20, lastingly: 100, below: 3_000, near: 1_000, deliveredMs: 5_000, deliveredCalls: 10 };
const pause = {
  throttled: { singleCalls: 10, first: 1_000, longest: 60_000, shortens: 0.99 },
  unreachable: { first: 1_000, longest: 20_000 },
};
/** Longest time between two outcomes that still count as related. */
const longestGapMs = 60_000;

/**
 * Called when a call sent at `sent_at` was answered: neither throttled nor lost. `demand` is `waiting` if the call had
 * to wait for its turn. Calls without demand prove nothing, so beyond the last limit the rate grows only with demand.
 */
export function afterAnswer(before: Budget, demand: 'waiting' | 'none', now: number, sent_at = now): Budget {
  const answered = { misses: 0, unreachable_since: null, answered_at: sent_at };
  const budget = { ...heard(before, 'answer', demand, now, sent_at), ...answered };
  // The call was sent before the throttle, so it proves nothing about the rate now.
  if (pauseLeft(before, now) > 0 || doubtOf(before, now) !== null) return budget;
  // A pause that counts as absent must not come back when the clock has caught up with it.
  const rested = { throttles: 0, not_before: 0, told_until: 0, refusal_ms: refusalAfter(before, 'over') };
  return { ...grown(budget, demand, sinceHeard(before, now)), ...rested };
}

/**
 * Called when the service throttled a call sent at `sent_at`. The rate is cut unless that call is older than the last
 * cut. The pause lasts until `until`. If the service named no end, it lasts half a second at most, then 1, 2, 4 …
 * seconds, up to a minute. `chance` in [0, 1) makes the pause up to a tenth longer, and by 90 seconds at most.
 */
export function afterThrottle(
  before: Budget,
  until: number | null,
  chance: number,
  now: number,
  sent_at = now,
): Budget {
  const left = pauseLeft(before, now);
  const budget = heard(before, 'throttled', 'none', now, sent_at);
  // Calls in flight when the pause began are throttled with it. That does not mean that the pause was too short.
  const again = budget.throttles > 0 && (left > 0 || (sent_at < budget.cut_at && budget.cut_at <= now));
  const cuts = !again && isCut(budget, now);
  const next = cuts ? reduced(budget, now) : again ? reducedFurther(budget) : budget;
  const wait = until === null ? ownPause(next, cuts, again) : asked(next, until - now);
  const not_before = now + Math.max(left, lengthened(wait, chance));
  return {
    ...next,
    throttles: again ? budget.throttles : budget.throttles + 1,
    refusal_ms: again || until !== null ? budget.refusal_ms : refusalAfter(budget, 'lasts'),
    misses: 0,
    not_before,
    told_until:
      until === null ? budget.told_until : now + Math.max(pauseLeft({ not_before: budget.told_until }, now), wait),
    unreachable_since: null,
  };
}

/**
 * Called when the service throttled a subject that backs off alone: it counts in the shares of throttled calls, but
 * causes no cut and no pause.
 */
export function afterThrottleAlone(budget: Budget, now: number, sent_at: number): Budget {
  return { ...heard(budget, 'throttled', 'none', now, sent_at), misses: 0, unreachable_since: null };
}

/**
 * Called when there was no connection or no usable answer. Pauses calls for a second, then longer and longer, up to 20
 * seconds (and up to a tenth more by `chance`), until the service answers again.
 */
export function afterMiss(budget: Budget, chance: number, now: number): Budget {
  const since = budget.unreachable_since;
  const missed = { ...budget, heard_at: now, unreachable_since: since === null || since > now ? now : since };
  // The call was sent before the pause began: one outage is one miss.
  if (pauseLeft(budget, now) > 0) return missed;
  const wait = Math.min(pause.unreachable.first * 2 ** budget.misses, pause.unreachable.longest);
  return { ...missed, misses: budget.misses + 1, not_before: now + lengthened(wait, chance) };
}

/**
 * Returns the learned length of our first pause. It doubles if the first call after that pause was throttled too, and
 * shrinks slowly while it was long enough.
 */
function refusalAfter({ throttles, refusal_ms }: Budget, refusal: 'over' | 'lasts'): number {
  if (throttles !== 1) return refusal_ms;
  const { shortens, first } = pause.throttled;
  return refusal === 'lasts' ? Math.min(2 * refusal_ms, first) : Math.max(shortens * refusal_ms, shortestRefusalMs);
}

/**
 * Returns the pause that the service asked for, in milliseconds. A Retry-After of 0 still means at least the gap of the
 * cut rate.
 */
function asked({ rate }: Budget, wait: number): number {
  return Math.max(Math.min(wait, longestWaitMs), 1000 / rate);
}

/**
 * Returns our own pause in milliseconds: half a second at most for the first throttle after answers. A second throttle
 * between two cuts needs none unless more follow.
 */
function ownPause(budget: Budget, cuts: boolean, again: boolean): number {
  const { rate, throttles, refusal_ms } = budget;
  if (again) return 0;
  const { singleCalls, first, longest } = pause.throttled;
  if (throttles > 0) return Math.min(first * 2 ** (throttles - 1), longest);
  if (isCrowd(budget)) return first;
  if (!cuts) return 0;
  return Math.max(Math.min(refusal_ms, (1000 * singleCalls) / rate) * realShare(budget), 1000 / rate);
}

/**
 * Decides whether a throttle cuts the rate. Near the limit each one does. Below it, on the way back, only many together
 * do, once in five seconds.
 */
function isCut(budget: Budget, now: number): boolean {
  const apart = now < budget.cut_at || now - budget.cut_at >= cut.apartMs;
  return (
    isBack(budget) ||
    (isCrowd(budget)
      ? apart
      : budget.throttles === 0 && budget.throttled.lately >= many.soon && realShare(budget) > 0.5)
  );
}

/** Returns the budget after a cut: a lower rate, and the new estimate of the limit. */
function reduced(budget: Budget, now: number): Budget {
  const crowd = isCrowd(budget);
  const met = crowd
    ? { limit: deliveredToCrowd(budget), limit_is: 'guessed' as const, near: nothing }
    : limitAfter(budget);
  const limit = Math.max(met.limit, lowest(budget.ceiling));
  const rate = Math.max(limit * (crowd ? cut.many : cut.single), lowest(budget.ceiling));
  const throttled = crowd ? { ...budget.throttled, lastingly: 0 } : budget.throttled;
  // A single throttle while no limit is known may be a stray.
  const pressed = crowd || (budget.limit !== null && realShare(budget) > 0.5);
  const pressed_at = pressed ? now : budget.pressed_at;
  return { ...budget, ...met, limit, rate, throttled, pressed_at, cut_at: now, cut_to: rate, grown_ms: 0 };
}

/**
 * Returns the new estimate of the limit after a single throttle near it. The first throttle only suggests that there is
 * a limit.
 */
function limitAfter(budget: Budget): Budget & { limit: number } {
  const { limit, limit_is, rate, below } = budget;
  const real = realShare(budget);
  if (limit === null) return { ...budget, limit: rate * (1 - drift.down * real), limit_is: 'guessed' };
  const down = limit_is === 'guessed' ? drift.downGuessed : drift.down;
  const met: Budget = { ...budget, limit_is: real > 0.5 ? 'met' : limit_is };
  if (isBack(budget))
    return { ...met, limit: Math.max(Math.min(limit, rate), deliveredRate(budget)) * (1 - down * real) };
  // A second throttle soon after, on the way back: the limit is no higher than this rate. That explains the throttle as
  // long as no limit was held yet.
  const throttled = budget.near.calls < held ? Math.max(0, below.throttled - 1) : below.throttled;
  return { ...met, limit: (limit - (limit - rate) * real) * (1 - down * real), below: { ...below, throttled } };
}

/**
 * Returns the rate that was let through while many calls were throttled, in calls a second. If nearly all were, it is
 * measured over whole seconds, else derived from the rate.
 */
function deliveredToCrowd(budget: Budget): number {
  const { rate, throttled } = budget;
  if (throttled.lately >= many.lately) return Math.min(rate, deliveredWithPauses(budget));
  return rate * (1 - throttled.lastingly);
}

/** Returns the rate that the service has let through lately, in calls a second; never more than we allowed. */
function deliveredRate({ delivered, rate }: Budget): number {
  return delivered.ms === 0 ? rate / 2 : Math.min(rate, (1000 * delivered.calls) / delivered.ms);
}

/** Corrects a cut whose first throttle seemed to be a single one, after the other throttles of its burst have come. */
function reducedFurther(budget: Budget): Budget {
  if (!isCrowd(budget)) return budget;
  const delivered = deliveredToCrowd(budget);
  const rate = Math.max(Math.min(budget.rate, delivered * cut.many), lowest(budget.ceiling));
  const limit = Math.max(Math.min(budget.limit ?? delivered, delivered), lowest(budget.ceiling));
  const pressed_at = budget.cut_at;
  return { ...budget, rate, pressed_at, cut_to: rate, limit, limit_is: 'guessed', near: nothing };
}

/** Returns whether many calls are throttled together, rather than single ones. */
export function isCrowd(budget: Budget): boolean {
  const { lately, lastingly } = budget.throttled;
  return lately >= many.lately || lastingly >= many.lastingly + strayShare(budget.below);
}

/**
 * Returns the delivered rate over at least a whole second, pauses included: a service that counts by the second lets a
 * burst through first.
 */
function deliveredWithPauses({ delivered: { calls, ms, paused_ms } }: Budget): number {
  return (1000 * calls) / Math.max(1000, ms + paused_ms);
}

/**
 * Returns the milliseconds since the last outcome, without pauses: at least 0 and at most `longestGapMs`, in case the
 * clock was set.
 */
function sinceHeard({ heard_at, not_before }: Budget, now: number): number {
  const from = not_before > heard_at && not_before <= now ? not_before : heard_at;
  return Math.min(Math.max(0, now - from), longestGapMs);
}

/** Counts an outcome in the delivered rate and the shares of throttled calls. */
function heard(
  budget: Budget,
  outcome: 'answer' | 'throttled',
  demand: 'waiting' | 'none',
  now: number,
  sent_at: number,
): Budget {
  const passed = sinceHeard(budget, now);
  const paused_ms = Math.min(Math.max(0, now - budget.heard_at), longestGapMs) - passed;
  // Time without calls does not show what would have passed.
  const ms = demand === 'waiting' ? passed : Math.min(passed, 1000 / budget.rate);
  const lasts = Math.max(memory.deliveredMs, (1000 * memory.deliveredCalls) / budget.rate);
  const kept = Math.exp(-(ms + paused_ms) / lasts);
  const { delivered, throttled, below, near, rate, limit } = budget;
  const hit = outcome === 'throttled' ? 1 : 0;
  const towards = (share: number, calls: number) => share + (hit - share) / calls;
  const counted = ({ calls, throttled }: Tally, lasts: number) => {
    const fades = 1 - 1 / lasts;
    return { calls: calls * fades + 1, throttled: throttled * fades + hit };
  };
  // A call sent before the last cut belongs to the throttle that caused it.
  const since = limit !== null && sent_at > budget.cut_at;
  // No answer came in between, so the service refuses everything for a while: that belongs to the limit, not to strays.
  const follows = hit === 1 && budget.throttles > 0;
  const isBelow = since && !follows && rate < wellBelow * limit;
  return {
    ...budget,
    heard_at: now,
    delivered: {
      calls: delivered.calls * kept + 1 - hit,
      ms: delivered.ms * kept + ms,
      paused_ms: delivered.paused_ms * kept + paused_ms,
    },
    throttled: {
      lately: towards(throttled.lately, memory.lately),
      lastingly: towards(throttled.lastingly, memory.lastingly),
    },
    below: isBelow ? counted(below, memory.below) : below,
    near: since && (follows || isBack(budget)) ? counted(near, memory.near) : near,
  };
}

/**
 * Time in which the rate grows from the start to the ceiling (`firstMs`). Growth from a cut back to the limit takes
 * `backMs` or `backCalls` calls at the limit, whichever is longer, but at most `latestMs`.
 */
const growth = { firstMs: 15_000, backMs: 1_000, backCalls: 30, latestMs: 20_000 };
/**
 * Movement of the limit, as shares of itself: up by the call and at least by the second, down with each throttle near
 * it that strays do not explain. So a real limit is met once in `down / upByCall` calls, however many strays there are.
 */
const drift = {
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
function grown(budget: Budget, demand: 'waiting' | 'none', ms: number): Budget {
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
function isBack({ limit, grown_ms }: Budget): boolean {
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
function realShare({ near, below }: Budget): number {
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
function strayShare(below: Tally): number {
  return below.throttled < few ? 0 : below.throttled / (below.calls + doubt);
}
