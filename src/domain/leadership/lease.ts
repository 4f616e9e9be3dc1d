/*
 * Who may call the service, where several instances share one account. Only durations count, each measured by the clock
 * of one instance: no wall clock, neither an instance's nor the database's, is compared with another.
 */

/** The times of a lease, in milliseconds. */
export interface LeaseTimes {
  /** Others wait for so long after the last renewal that they saw. */
  readonly lease: number;
  /** How often the leader renews, and the others look. */
  readonly renew: number;
  /** The leader stops calling so long before others may begin. */
  readonly margin: number;
}

/** Returns why a leader could not keep such a lease; null: it can. One renewal may fail without consequences. */
export function leaseProblem({ lease, renew, margin }: LeaseTimes): string | null {
  return lease >= 2 * renew + margin ? null : 'is below 2 × renew + margin: one late renewal would stop all calls';
}

/**
 * Returns until when the leader may call, on the clock of `attempt_at`: when the claim or renewal was sent that succeeded.
 * Others cannot have seen it earlier, so that they begin at least `margin` later.
 */
export function trustedUntil(attempt_at: number, { lease, margin }: LeaseTimes): number {
  return attempt_at + lease - margin;
}

/** The lease as it stands in the database. */
export interface LeaseRow {
  readonly term: number;
  /** Drawn anew with each claim; null: the last leader has resigned. */
  readonly holder: string | null;
  /** Counts the renewals of a term. */
  readonly beat: number;
}

/** A lease that another instance looks at, unchanged since then on its own clock. */
export interface SeenLease extends LeaseRow {
  readonly since: number;
}

/** Returns what is known after another look; `now` is an instant at which the row was read, or later. */
export function seenAgain(before: SeenLease | null, { term, holder, beat }: LeaseRow, now: number): SeenLease {
  const same = before?.term === term && before.holder === holder && before.beat === beat;
  return { term, holder, beat, since: same ? before.since : now };
}

/** Returns in how many milliseconds the lease may be claimed; 0: now. */
export function claimableIn({ holder, since }: SeenLease, now: number, { lease }: LeaseTimes): number {
  return holder === null ? 0 : Math.max(0, since + lease - now);
}

/**
 * The calls of two leaders must not add up: in its first second a new one makes none, whatever the one before it did in
 * the last second of its own.
 */
export const firstCallInMs = 1000;

/** A leader whose files could not be written for so long is not ready, and resigns while another instance can go on. */
export const unwritableMs = 30_000;
