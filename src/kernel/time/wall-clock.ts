import { Cron } from 'croner';
import { hourMs } from '../clock.ts';
import { rulesOf } from './venue.ts';
import { instantsOf } from './zone-rules.ts';

/** Instants of a job that is tied to a wall clock. */
export interface WallClock {
  /** A cron pattern, and the time zone in which it is read. */
  readonly pattern: string;
  readonly zone: string;
  /** Returns the first instant after `from`. */
  next(from: number): number;
}

/**
 * Computes the instants of a cron pattern in a time zone, including changes of its clock: a time that does not exist
 * comes when the clock has been set forward; one that exists twice comes the first time alone. This holds for every
 * pattern: croner matches it on a clock that is never changed, and the zone's rules make instants of the times found.
 * With a zone of its own croner loses or repeats times of patterns that have several. No timer is set; the caller passes
 * the time. Pattern and zone must be valid.
 */
export function wallClock({ at, zone }: { readonly at: string; readonly zone: string }): WallClock {
  const cron = new Cron(at, { timezone: 'UTC', paused: true });
  const after = (from: number) => {
    const rules = rulesOf(zone);
    let local = cron.nextRun(new Date(from + 60_000 * rules.offsetAt(from)));
    // If an hour comes twice, croner also finds times that its first occurrence has passed.
    for (; local !== null; local = cron.nextRun(local)) {
      const { first } = instantsOf(rules, local.getTime());
      if (first > from) return first;
    }
    return Number.POSITIVE_INFINITY;
  };
  let known = { from: Number.POSITIVE_INFINITY, next: Number.NEGATIVE_INFINITY };
  return {
    pattern: at,
    zone,
    // Called at every tick: between two instants the answer is the same.
    next: (from) => {
      if (from < known.from || from >= known.next) known = { from, next: after(from) };
      return known.next;
    },
  };
}

/**
 * Returns the problem of a pattern. `bad`: it does not have five valid fields. `never`: it matches no date of any year,
 * like 30 February. Null: it is valid.
 */
export function patternProblem(pattern: string): 'bad' | 'never' | null {
  // With six fields the first would be seconds.
  if (!/^\S+( +\S+){4}$/.test(pattern)) return 'bad';
  try {
    return wallClock({ at: pattern, zone: 'UTC' }).next(0) === Number.POSITIVE_INFINITY ? 'never' : null;
  } catch {
    return 'bad';
  }
}

/** Returns whether a name is one of the tz database. */
export function isZone(name: string): boolean {
  try {
    // An offset is not a place, and has no changes of the clock.
    return name === 'UTC' || (/^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== null);
  } catch {
    return false;
  }
}

/** Milliseconds by which a stored instant may be ahead of our clock. */
const aheadMs = 5 * 60_000;

/**
 * Returns when a job that is tied to a wall clock runs first after the start of a process: at the next instant, or
 * earlier if it has not run for one and a half intervals by then. It never runs in the first hour unless the next
 * instant lies there, because there is enough to do. `done_at` is null if it is not known when it ran last.
 */
export function firstInstant({ next }: WallClock, done_at: number | null, now: number): number {
  const regular = next(now);
  const soonest = now + hourMs;
  if (done_at === null || done_at > now + aheadMs) return Math.min(regular, soonest);
  const missed = next(done_at);
  return Math.min(regular, Math.max(soonest, missed + (next(missed) - missed) / 2));
}
