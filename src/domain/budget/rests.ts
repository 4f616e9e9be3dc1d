import { type Budget, type DoubtedPause, lengthened, longestWaitMs, pauseLeft, type Resting } from './budget.ts';

/*
 * How far a throttled answer reaches: at first to everybody, for a minute at most, then only as far as further answers
 * show. Pure functions of the budget, an outcome and `now`.
 */

const minute = 60_000;
/** A Retry-After that may be one product's binds everybody for so long. */
const everybodyMs = minute;
/** From one try to the next: the last one repeats. */
const triesMs = [2 * minute, 4 * minute, 8 * minute, 15 * minute];
/** So long only calls of the same path try; then any other call, because perhaps no product is due there. */
const samePathMs = minute / 2;
/** What is throttled in a row rests for 2 and 16 seconds, for 2 minutes, then 15. */
const restMs = { first: 2_000, factor: 8, longest: 15 * minute };
/** So many throttles in a row, between which others are answered, are the subject's own. */
const ownTimes = 3;
/** More would be the account's trouble. Those whose rest ends last are kept. */
const mostResting = 100;
const dayMs = 24 * 60 * minute;

/** Returns the rest of a subject; null: it may be asked for. */
export function restOf({ resting }: Budget, subject: number | string | null, now: number): Resting | null {
  return resting.find((each) => each.subject === subject && isAhead(each.until, now)) ?? null;
}

/** Called when a call was answered: what it was about does not rest any more, unless it was under way before the throttle. */
export function afterRest(budget: Budget, subject: number | string | null, sent_at: number): Budget {
  if (!budget.resting.some((each) => each.subject === subject && sent_at >= each.until)) return budget;
  return { ...budget, resting: budget.resting.filter((each) => each.subject !== subject) };
}

/**
 * Called when a call was throttled, before the rate learns from it: its subject rests. `throttled`: whether few or many
 * calls are. Where many are, or none was answered since the first one, it is not the subject's own trouble.
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

/** Returns the doubt about the pause that the service asked for; null: there is no such pause, or it is the account's. */
export function doubtOf({ doubt, told_until }: Budget, now: number): DoubtedPause | null {
  return doubt !== null && isAhead(told_until, now) ? doubt : null;
}

/**
 * Returns the budget `after` a throttle that binds everybody for as long as the service asked, with a pause of a minute
 * where it asked for more and may mean one subject. `path`: of the call; null: it means everybody, or asked for nothing.
 */
export function doubted(before: Budget, after: Budget, path: string | null, now: number): Budget {
  const doubt = doubtOf(before, now);
  const told_until = doubt === null ? after.told_until : Math.max(before.told_until, after.told_until);
  if (path === null || told_until <= now + everybodyMs) return { ...after, told_until, doubt };
  const not_before = now + Math.max(pauseLeft(before, now), everybodyMs);
  return { ...after, told_until, not_before, doubt: doubt ?? { path, tries: 0, tried_at: 0 } };
}

/**
 * Tells whether a call may try whether everybody has to wait, once the pause is over that binds everybody. A list is alone
 * at its path.
 */
export function mayTry({ not_before }: Budget, doubt: DoubtedPause, path: string | null, now: number): boolean {
  return path === doubt.path || !doubt.path.includes('{product_id}') || now >= not_before + samePathMs;
}

/** Called when a try begins: the next one comes later, also where this one is not answered or the process ends. */
export function tryBegins(budget: Budget, now: number): Budget {
  const doubt = doubtOf(budget, now);
  if (doubt === null) return budget;
  const wait = triesMs[Math.min(doubt.tries, triesMs.length - 1)] ?? 0;
  const not_before = Math.min(now + wait, budget.told_until);
  return { ...budget, not_before, doubt: { ...doubt, tries: doubt.tries + 1, tried_at: now } };
}

/** Tells whether a call that was sent at `sent_at` was a try. */
export function wasTry(budget: Budget, now: number, sent_at: number): boolean {
  const doubt = doubtOf(budget, now);
  return doubt !== null && doubt.tries > 0 && sent_at >= doubt.tried_at;
}

/**
 * Called when a try was throttled: everybody waits on. The rate learns nothing from it, as one call in minutes exceeds
 * none. `path` null: the service means everybody, so nobody tries before the end.
 */
export function afterThrottledTry(budget: Budget, until: number | null, path: string | null, now: number): Budget {
  const asked = until === null ? 0 : Math.min(until, now + longestWaitMs);
  const not_before = path === null ? Math.max(budget.not_before, asked) : budget.not_before;
  return { ...budget, not_before, told_until: Math.max(budget.told_until, asked) };
}

/** Called when a try was answered: the pause was not for everybody, and what asked for it rests alone. */
export function afterAnsweredTry(budget: Budget, now: number): Budget {
  const resting = budget.resting.map((each) => (isAhead(each.until, now) ? { ...each, alone: 1 as const } : each));
  return { ...budget, resting, not_before: 0, told_until: 0, doubt: null };
}

/** An instant further ahead than any pause comes from a clock that was wrong. */
function isAhead(until: number, now: number): boolean {
  return pauseLeft({ not_before: until }, now) > 0;
}
