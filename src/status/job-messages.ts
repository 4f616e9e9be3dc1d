import type { JobRuns } from '../domain/schedule/job-runs.ts';
import { duration } from '../format.ts';

/** Formats the period of a job: `1 min`, or `0 4 * * *, UTC`. */
export function jobPeriod({ every_ms, at, zone }: JobRuns): string {
  return every_ms === null ? `${at}, ${zone}` : duration(every_ms);
}

/** Formats the duration of the last run: `3 ms`, `45 s`; null if there was none. */
export function jobDuration({ last_ms, running, last_run_at }: JobRuns, now: number): string | null {
  if (running === 1) return `running for ${duration(now - (last_run_at ?? now))}`;
  if (last_ms === null) return null;
  return last_ms < 1000 ? `${last_ms} ms` : duration(last_ms);
}

/** Formats when a job runs next: `in 12 s`, or `now`. */
export function jobNext({ next_at }: JobRuns, now: number): string {
  return next_at - now < 500 ? 'now' : `in ${duration(next_at - now)}`;
}
