/*
 * Decides which instance may call the service, if several share one account. Only durations count, each measured by the
 * clock of one instance. No wall clock, neither an instance's nor the database's, is compared with another.
 */

/** Times of a lease, in milliseconds. */
export interface LeaseTimes {
  /** Time that others wait after the last renewal that they saw. */
  readonly lease: number;
  /** Interval at which the leader renews, and at which the others read the lease. */
  readonly renew: number;
  /** The leader stops calling this long before others may begin. */
  readonly margin: number;
}

/**
 * The times of every instance. All that share a database must have the same ones, so nobody can set them. One renewal may
 * be late without consequences (2 × renew + margin ≤ lease), a takeover takes 5 s, and a process that stood still for less than
 * the margin cannot call beside its successor.
 */
export const leaseTimes: LeaseTimes = { lease: 5000, renew: 1000, margin: 2000 };

/**
 * Returns until when the leader may call, on the clock of `attempt_at`: the instant at which the successful claim or
 * renewal was sent. Others cannot have seen it earlier, so they begin at least `margin` later.
 */
export function trustedUntil(attempt_at: number, { lease, margin }: LeaseTimes): number {
  return attempt_at + lease - margin;
}

/** The lease as stored in the database. */
export interface LeaseRow {
  readonly term: number;
  /** Drawn at random with each claim. Null: the last leader has resigned. */
  readonly holder: string | null;
  /** Number of renewals in this term. */
  readonly beat: number;
}

/** A lease as another instance has seen it, unchanged since `since` on that instance's clock. */
export interface SeenLease extends LeaseRow {
  readonly since: number;
}

/** Returns what is known after reading the row again. `now` is the instant of the read, or later. */
export function seenAgain(before: SeenLease | null, { term, holder, beat }: LeaseRow, now: number): SeenLease {
  const same = before?.term === term && before.holder === holder && before.beat === beat;
  return { term, holder, beat, since: same ? before.since : now };
}

/** Returns in how many milliseconds the lease may be claimed; 0 for now. */
export function claimableIn({ holder, since }: SeenLease, now: number, { lease }: LeaseTimes): number {
  return holder === null ? 0 : Math.max(0, since + lease - now);
}

/**
 * A new leader makes no calls in its first second, because the calls of two leaders must not add up, however many the
 * previous leader made in its last second.
 */
export const firstCallInMs = 1000;

/** A leader whose files cannot be written for this long is not ready, and resigns if another instance can continue. */
export const unwritableMs = 30_000;
