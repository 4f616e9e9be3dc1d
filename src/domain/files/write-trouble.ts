/** Why a file cannot be written just now. Both troubles pass, so writes wait. */
export type WriteTrouble = 'disk-full' | 'locked';

/** How long to pause after trouble, at first and at most, and for how long it must not return to count as over. */
export interface Patience {
  readonly first: number;
  readonly longest: number;
  readonly trial: number;
}

/**
 * The patience with each trouble. A lock is released within milliseconds or minutes, and asking costs nothing. On a
 * full disk a tiny write may succeed while real work cannot, so it is tried less and less often.
 */
export const patience: Readonly<Record<WriteTrouble, Patience>> = {
  locked: { first: 20, longest: 250, trial: 1000 },
  'disk-full': { first: 1000, longest: 30_000, trial: 10_000 },
};

/** Trouble that lasts this long is an alarm. */
export const troubleAlarmMs = 60_000;
