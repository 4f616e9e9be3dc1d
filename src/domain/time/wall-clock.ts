import { Cron } from 'croner';

/** The instants of what is tied to a wall clock. */
export interface WallClock {
  /** A cron pattern, and the time zone it is read in. */
  readonly pattern: string;
  readonly zone: string;
  /** Returns the first instant after `from`. */
  next(from: number): number;
}

/**
 * Computes the instants of a cron pattern in a time zone, over changes of its clock too: a time that does not exist comes
 * when the clock has been set forward, one that exists twice comes once. No timer is set, and the time asked from is the
 * caller's. For a pattern and a zone without a problem.
 */
export function wallClock({ at, zone }: { readonly at: string; readonly zone: string }): WallClock {
  const cron = new Cron(at, { timezone: zone, paused: true });
  const after = (from: number) => cron.nextRun(new Date(from))?.getTime() ?? Number.POSITIVE_INFINITY;
  let known = { from: Number.POSITIVE_INFINITY, next: Number.NEGATIVE_INFINITY };
  return {
    pattern: at,
    zone,
    // Asked at every tick: between two instants the answer is the same.
    next: (from) => {
      if (from < known.from || from >= known.next) known = { from, next: after(from) };
      return known.next;
    },
  };
}

/** `bad`: none of five fields; `never`: it is no date of any year, like 30 February. Null: a good one. */
export function patternProblem(pattern: string): 'bad' | 'never' | null {
  // With six fields the first would be seconds.
  if (!/^\S+( +\S+){4}$/.test(pattern)) return 'bad';
  try {
    return wallClock({ at: pattern, zone: 'UTC' }).next(0) === Number.POSITIVE_INFINITY ? 'never' : null;
  } catch {
    return 'bad';
  }
}

/** Tells whether a name is one of the tz database. */
export function isZone(name: string): boolean {
  try {
    // An offset is no place, and knows no change of the clock.
    return name === 'UTC' || (/^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== null);
  } catch {
    return false;
  }
}

const hourMs = 3_600_000;
/** What a stored instant may be ahead of our clock. */
const aheadMs = 5 * 60_000;

/**
 * Returns when something tied to a wall clock is to be done first, for a process that has just been started: at the next
 * instant, or before it where it has not been done for one and a half intervals by then; never in the first hour, in which
 * there is enough to do. `done_at` null: nobody knows when it was done last.
 */
export function firstInstant({ next }: WallClock, done_at: number | null, now: number): number {
  const regular = next(now);
  const soonest = now + hourMs;
  if (done_at === null || done_at > now + aheadMs) return Math.min(regular, soonest);
  const missed = next(done_at);
  return Math.min(regular, Math.max(soonest, missed + (next(missed) - missed) / 2));
}
