import { ago, duration, printable } from '../../format.ts';

/** The runs of one of the daemon's jobs since the start. */
export interface JobRuns {
  readonly name: string;
  /** Milliseconds between two ticks; null: tied to a wall clock. */
  readonly every_ms: number | null;
  /** The cron pattern and the time zone of a job that is tied to a wall clock; null: it has a period. */
  readonly at: string | null;
  readonly zone: string | null;
  readonly next_at: number;
  readonly running: 0 | 1;
  /** Whether it should have run, or have ended, some time ago. */
  readonly overdue: 0 | 1;
  readonly runs: number;
  readonly failures: number;
  /** When the last run began, and how long it took; null: none has, or it still runs. */
  readonly last_run_at: number | null;
  readonly last_ms: number | null;
  /** Why the last run failed; null: it did not. */
  readonly failure: string | null;
  /** Why it did nothing at its last tick: a need that is not met; null: it ran. */
  readonly kept_from: string | null;
}

/** How late a job may start: sleeps of the schedule take half a minute at most, the rest is for a busy machine. */
const lateMs = 60_000;
/** The longest plausible run of a job that does not call the service. */
const longMs = 3_600_000;

/**
 * Decides whether a job is overdue: its tick has gone by without a run, or a run outlasts all reason. One that waits for the
 * service runs as long as that takes: promises, and a service that is away, are told elsewhere.
 */
export function isOverdue(
  { next_at, running, last_run_at }: Pick<JobRuns, 'next_at' | 'running' | 'last_run_at'>,
  { asksService }: { readonly asksService: boolean },
  now: number,
): boolean {
  if (running === 0) return now - next_at > lateMs;
  return !asksService && now - (last_run_at ?? now) > longMs;
}

/** Returns the trouble of a job, beginning with its name; null: it runs as it should. */
export function jobTrouble({ name, overdue, running, next_at, last_run_at, failure }: JobRuns, now: number) {
  if (failure !== null)
    return `${name} failed${last_run_at === null ? '' : ` ${ago(last_run_at, now)}`}: ${printable(failure)}`;
  if (overdue === 0) return null;
  return running === 1
    ? `${name} has been running for ${duration(now - (last_run_at ?? now))}`
    : `${name} was due ${ago(next_at, now)} and has not run`;
}
