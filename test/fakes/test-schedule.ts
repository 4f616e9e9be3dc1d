import type { Unmet } from '../../src/daemon/needs.ts';
import { createSchedule, type Job, type Schedule, type ScheduleOptions } from '../../src/daemon/schedule.ts';

/** What a test knows of a schedule: by itself nothing keeps its jobs from their work. */
export type TestScheduleOptions = Omit<ScheduleOptions, 'writing'> &
  Partial<Pick<ScheduleOptions, 'writing'>> & { readonly unmet?: Unmet };

/** Creates the schedule of a list of jobs. */
export function testSchedule(jobs: readonly Job[], { unmet = () => null, ...options }: TestScheduleOptions): Schedule {
  const schedule = createSchedule({ writing: (work) => work(), ...options });
  schedule.add(jobs, unmet);
  return schedule;
}
