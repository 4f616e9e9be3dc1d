import { dayMs, minuteMs } from '../kernel/clock.ts';
import { type Budget, type DoubtedPause, lengthened, longestWaitMs, pauseLeft, type Resting } from './budget.rules.ts';

/*
 * Decides how far a throttled answer reaches: at first to all calls, for a minute at most, then only as far as further
 * answers show. These are pure functions of the budget, an outcome and `now`.
 */

/** Time for which a Retry-After that may apply to one product only stops all calls. */
const everybodyMs = minuteMs;
/** Time from one attempt to the next; the last one repeats. */
const triesMs = [2 * minuteMs, 4 * minuteMs, 8 * minuteMs, 15 * minuteMs];
/**
 * Time in which only calls of the same path attempt. After it any call may, because perhaps no product is due at that
 * path.
 */
const samePathMs = minuteMs / 2;
/** A subject that is throttled again and again rests for 2 seconds, 16 seconds, 2 minutes, then 15 minutes. */
const restMs = { first: 2_000, factor: 8, longest: 15 * minuteMs };
/** After this many throttles in a row, with other calls answered in between, only the subject is throttled. */
const ownTimes = 3;
/**
 * Most resting subjects that are kept; those whose rest ends last stay. More would be a problem of the whole account.
 */
const mostResting = 100;
/** Time from one attempt of the live checks to the next; all checks share it. */
const checksApartMs = minuteMs / 2;

/** Returns the rest of a subject. Null if it may be requested. */
export function restOf({ resting }: Budget, subject: number | string | null, now: number): Resting | null {
  return resting.find((each) => each.subject === subject && isAhead(each.until, now)) ?? null;
}

/** Called when a call was answered: its subject no longer rests, unless the call was sent before the rest ended. */
export function afterRest(budget: Budget, subject: number | string | null, sent_at: number): Budget {
  if (!budget.resting.some((each) => each.subject === subject && sent_at >= each.until)) return budget;
  return { ...budget, resting: budget.resting.filter((each) => each.subject !== subject) };
}

/**
 * Called when a call was throttled, before the rate learns from it: its subject rests. `throttled` is `many` while many
 * calls are throttled. Then, or if none was answered since the first throttle, the problem is not the subject's own.
 */
export function afterOwnThrottle(
  budget: Budget,
  subject: number | string,
  { until, throttled }: { until: number | null; throttled: 'few' | 'many' },
  chance: number,
  now: number,
  sent_at: number,
): Budget {
  const before = budget.resting.find((each) => each.subject === subject);
  const times = before === undefined ? 1 : before.times + (sent_at >= before.until ? 1 : 0);
  const since = before?.since ?? now;
  const isOwn = times >= ownTimes && throttled === 'few' && budget.answered_at > since;
  const usual = Math.min(restMs.first * restMs.factor ** (times - 1), restMs.longest);
  const wait = Math.max(usual, until === null ? 0 : Math.min(until - now, longestWaitMs));
  const rest: Resting = {
    subject,
    times,
    since,
    until: Math.max(
      now + lengthened(wait, chance),
      before !== undefined && isAhead(before.until, now) ? before.until : 0,
    ),
    alone: before?.alone === 1 || isOwn ? 1 : 0,
  };
  const kept = budget.resting.filter((each) => each.subject !== subject && each.until > now - dayMs);
  return { ...budget, resting: [...kept, rest].sort((a, b) => b.until - a.until).slice(0, mostResting) };
}

/**
 * Returns the doubt about the pause that the service asked for. Null if there is no such pause, or if it applies to the
 * whole account.
 */
export function doubtOf({ doubt, told_until }: Budget, now: number): DoubtedPause | null {
  return doubt !== null && isAhead(told_until, now) ? doubt : null;
}

/**
 * Returns the budget `after` a throttle that stops all calls for as long as the service asked. If it asked for more
 * than a minute and may mean one subject only, the pause for all is a minute. `path` is the call's. It is null if the
 * throttle applies to all calls or named no end.
 */
export function doubted(before: Budget, after: Budget, path: string | null, now: number): Budget {
  const doubt = doubtOf(before, now);
  const told_until = doubt === null ? after.told_until : Math.max(before.told_until, after.told_until);
  if (path === null || told_until <= now + everybodyMs) return { ...after, told_until, doubt };
  const not_before = now + Math.max(pauseLeft(before, now), everybodyMs);
  return { ...after, told_until, not_before, doubt: doubt ?? { path, tries: 0, tried_at: 0 } };
}

/**
 * Returns whether a call may test whether all calls have to wait, once the first pause is over. A list is alone at its
 * path.
 */
export function mayTry({ not_before }: Budget, doubt: DoubtedPause, path: string | null, now: number): boolean {
  return path === doubt.path || !doubt.path.includes('{product_id}') || now >= not_before + samePathMs;
}

/** Called when an attempt begins: the next one comes later, even if this one is not answered or the process ends. */
export function tryBegins(budget: Budget, now: number): Budget {
  const doubt = doubtOf(budget, now);
  if (doubt === null) return budget;
  const wait = triesMs[Math.min(doubt.tries, triesMs.length - 1)] ?? 0;
  const not_before = Math.min(now + wait, budget.told_until);
  return { ...budget, not_before, doubt: { ...doubt, tries: doubt.tries + 1, tried_at: now } };
}

/** Returns whether a live check may test at once whether all calls have to wait: a shopper waits for it. */
export function mayCheckTry(budget: Budget, now: number): boolean {
  const doubt = doubtOf(budget, now);
  return doubt !== null && Math.abs(now - doubt.tried_at) >= checksApartMs;
}

/** Called when a live check begins such an attempt: the attempts of other calls come in their time. */
export function checkTryBegins(budget: Budget, now: number): Budget {
  const doubt = doubtOf(budget, now);
  return doubt === null ? budget : { ...budget, doubt: { ...doubt, tried_at: now } };
}

/** Returns whether a call sent at `sent_at` was an attempt. */
export function wasTry(budget: Budget, now: number, sent_at: number): boolean {
  const doubt = doubtOf(budget, now);
  return doubt !== null && doubt.tried_at > 0 && sent_at >= doubt.tried_at;
}

/**
 * Called when an attempt was throttled: all calls keep waiting. The rate learns nothing, because one call in minutes
 * exceeds no limit. `path` is null if the throttle applies to all calls; then there is no attempt before the end.
 */
export function afterThrottledTry(budget: Budget, until: number | null, path: string | null, now: number): Budget {
  const asked = until === null ? 0 : Math.min(until, now + longestWaitMs);
  const not_before = path === null ? Math.max(budget.not_before, asked) : budget.not_before;
  return { ...budget, not_before, told_until: Math.max(budget.told_until, asked) };
}

/**
 * Called when an attempt was answered: the pause did not apply to all calls, and the subjects that were throttled rest
 * alone.
 */
export function afterAnsweredTry(budget: Budget, now: number): Budget {
  const resting = budget.resting.map((each) => (isAhead(each.until, now) ? { ...each, alone: 1 as const } : each));
  return { ...budget, resting, not_before: 0, told_until: 0, doubt: null };
}

/** Returns whether an instant is in the future. One further ahead than any pause comes from a clock that was wrong. */
function isAhead(until: number, now: number): boolean {
  return pauseLeft({ not_before: until }, now) > 0;
}
