import { z } from 'zod';
import { ago, duration, printable } from '../kernel/format.ts';
import { amount, bit, count, instant, maybe, never, type Shaped, text } from '../kernel/values/answer-values.ts';

/** The runs of one of the daemon's jobs since the start. */
export const jobRuns = z.object({
  name: text,
  /** Milliseconds between two ticks. */
  every_ms: amount.meta({ description: 'null: tied to a wall clock' }),
  at: maybe.meta({ description: 'a cron pattern; null: it has a period' }),
  zone: maybe,
  next_at: instant,
  running: bit,
  overdue: bit.meta({ description: 'true: it should have run, or ended, some time ago' }),
  runs: count.meta({ description: 'since the start' }),
  failures: count,
  /** Instant at which the last run began, and its duration; null if there was none, or if it still runs. */
  last_run_at: never,
  last_ms: amount.meta({ description: 'null: it has not run yet, or still runs' }),
  /** Null: it did not fail. */
  failure: maybe.meta({ description: 'of the last run' }),
  kept_from: maybe.meta({ description: 'why it did nothing at its last tick; null: it ran' }),
});
export type JobRuns = Shaped<typeof jobRuns>;

/**
 * Longest delay of the start of a job: the schedule sleeps for half a minute at most, the rest is for a busy machine.
 */
const lateMs = 60_000;
/** The longest plausible run of a job that does not call the service. */
const longMs = 3_600_000;

/**
 * Returns whether a job is overdue: its tick has passed without a run, or a run takes implausibly long. A job that
 * calls the service may run as long as the service takes: missed freshness targets, and a service that is away, have
 * conditions of their own.
 */
export function isOverdue(
  { next_at, running, last_run_at }: Pick<JobRuns, 'next_at' | 'running' | 'last_run_at'>,
  { asksService }: { readonly asksService: boolean },
  now: number,
): boolean {
  if (running === 0) return now - next_at > lateMs;
  return !asksService && now - (last_run_at ?? now) > longMs;
}

/** Returns the trouble of a job, as text that begins with its name; null if it runs as it should. */
export function jobTrouble({ name, overdue, running, next_at, last_run_at, failure }: JobRuns, now: number) {
  if (failure !== null)
    return `${name} failed${last_run_at === null ? '' : ` ${ago(last_run_at, now)}`}: ${printable(failure)}`;
  if (overdue === 0) return null;
  return running === 1
    ? `${name} has been running for ${duration(now - (last_run_at ?? now))}`
    : `${name} was due ${ago(next_at, now)} and has not run`;
}

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
