/** Reason why a file cannot be written now. Both kinds of trouble pass, so writes wait. */
export type WriteTrouble = 'disk-full' | 'locked';

/** Milliseconds to wait after trouble, at first and at most, and how long it must stay away to count as over. */
export interface Patience {
  readonly first: number;
  readonly longest: number;
  readonly trial: number;
}

/**
 * Patience with each kind of trouble. A lock is released within milliseconds or minutes, and asking costs nothing. On a
 * full disk a tiny write may succeed while real work fails, so it is attempted less and less often.
 */
export const patience: Readonly<Record<WriteTrouble, Patience>> = {
  locked: { first: 20, longest: 250, trial: 1000 },
  'disk-full': { first: 1000, longest: 30_000, trial: 10_000 },
};
