/** Why a file cannot be written just now: both pass, and are waited for. */
export type WriteTrouble = 'disk-full' | 'locked';

/** How long nothing is tried after trouble, the first time and at most, and how long afterwards it must not come back. */
export interface Patience {
  readonly first: number;
  readonly longest: number;
  readonly trial: number;
}

/**
 * A lock is let go of within milliseconds or minutes, and asking costs nothing. After a full disk a tiny write can succeed
 * again at once while real work cannot, so it is tried less and less often.
 */
export const patience: Readonly<Record<WriteTrouble, Patience>> = {
  locked: { first: 20, longest: 250, trial: 1000 },
  'disk-full': { first: 1000, longest: 30_000, trial: 10_000 },
};

/** Trouble that lasts this long is an alarm. */
export const troubleAlarmMs = 60_000;
