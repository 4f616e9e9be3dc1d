/** Why a file cannot be written just now: both pass, and are waited for. */
export type WriteTrouble = 'disk-full' | 'locked';

/**
 * Classifies an error: what is waited for, or null for everything else, a failed fsync above all. SQLite names a lack of
 * space for its shared index SHMSIZE.
 */
export function writeTroubleOf(error: unknown): WriteTrouble | null {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return null;
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE') return 'disk-full';
  if (code.startsWith('SQLITE_BUSY')) return 'locked';
  return null;
}

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
