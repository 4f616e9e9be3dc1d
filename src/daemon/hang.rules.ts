import type { JobRuns } from './job-runs.rules.ts';

/** Reason why an overdue job does not hang. */
export type Waits =
  /** The service decides how long a run takes. */
  | 'for-the-service'
  /** The files cannot be written: the disk is full, or another program holds a lock. */
  | 'for-the-files';

/** A job, as the watchdog sees it. */
export interface WatchedJob extends Pick<JobRuns, 'name' | 'running' | 'overdue'> {
  readonly asks_service: boolean;
}

/** Returns why a job may be overdue; null if no reason is known. */
export function waitsFor(job: WatchedJob, { filesStopped }: { readonly filesStopped: boolean }): Waits | null {
  if (job.running === 1 && job.asks_service) return 'for-the-service';
  return filesStopped ? 'for-the-files' : null;
}

/** Returns the jobs that hang: overdue, and without a known reason to wait. */
export function hangingJobs(jobs: readonly WatchedJob[], files: { readonly filesStopped: boolean }): string[] {
  return jobs.filter((job) => job.overdue === 1 && waitsFor(job, files) === null).map(({ name }) => name);
}
