import { minuteMs } from '../kernel/clock.ts';
import { futureToleranceMs } from '../schedule/record.rules.ts';

/** Facts about the published copy. Instants are null if it never happened. */
export interface SnapshotFacts {
  readonly published_at: number | null;
  /** Failures in a row since the last publication. */
  readonly failures: number;
  readonly failed_at: number | null;
}

/**
 * Returns whether a copy is to be published now: once every period, and after a failure again after 1, 2, 4 … minutes,
 * but at most a period later. A stamp in the future was made with a wrong clock and counts as none.
 */
export function snapshotDue({ published_at, failures, failed_at }: SnapshotFacts, every: number, now: number): boolean {
  if (failed_at !== null && !isAhead(failed_at, now))
    return now >= failed_at + Math.min(every, minuteMs * 2 ** Math.min(failures - 1, 20));
  return published_at === null || isAhead(published_at, now) || now >= published_at + every;
}

/** Returns whether the published copy is missing or older than two periods. */
export function snapshotLate(published_at: number | null, every: number, now: number): boolean {
  return published_at === null || isAhead(published_at, now) || now > published_at + 2 * every;
}

function isAhead(at: number, now: number): boolean {
  return at > now + futureToleranceMs;
}
