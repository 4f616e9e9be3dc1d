import { futureToleranceMs } from '../schedule/record.ts';

/** The facts of the published copy: instants, or null for never. */
export interface SnapshotFacts {
  readonly published_at: number | null;
  /** In a row, since then. */
  readonly failures: number;
  readonly failed_at: number | null;
}

const minuteMs = 60_000;

/**
 * Tells whether a copy is to be published now: once every period, and after a failure again after 1, 2, 4 … minutes, no
 * later than a period after it. A stamp that lies ahead was made by a wrong clock and counts as none.
 */
export function snapshotDue({ published_at, failures, failed_at }: SnapshotFacts, every: number, now: number): boolean {
  if (failed_at !== null && !isAhead(failed_at, now))
    return now >= failed_at + Math.min(every, minuteMs * 2 ** Math.min(failures - 1, 20));
  return published_at === null || isAhead(published_at, now) || now >= published_at + every;
}

/** Tells whether the published copy is missing or older than two periods. */
export function snapshotLate(published_at: number | null, every: number, now: number): boolean {
  return published_at === null || isAhead(published_at, now) || now > published_at + 2 * every;
}

function isAhead(at: number, now: number): boolean {
  return at > now + futureToleranceMs;
}
