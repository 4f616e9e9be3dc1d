import { z } from 'zod';
import { bit, count, instant, maybe, never, text } from './values.ts';

const runs = {
  name: text,
  every_ms: z.number().nullable().meta({ description: 'null: tied to a wall clock' }),
  at: maybe.meta({ description: 'a cron pattern; null: it has a period' }),
  zone: maybe,
  next_at: instant,
  running: bit,
  overdue: bit.meta({ description: 'true: it should have run, or ended, some time ago' }),
  runs: count.meta({ description: 'since the start' }),
  failures: count,
  last_run_at: never,
  last_ms: z.number().nullable().meta({ description: 'null: it has not run yet, or still runs' }),
  failure: maybe.meta({ description: 'of the last run' }),
  kept_from: maybe.meta({ description: 'why it did nothing at its last tick; null: it ran' }),
};

export const jobRuns = z.object(runs);
export const schedule = z.object({ jobs: z.array(jobRuns) });

export const jobNamed = z.object({ name: text.meta({ description: 'the name of a job of the schedule' }) });
export const jobAnswer = z.object({ ...runs, joined: bit.meta({ description: 'it was already running' }) });
