import type { JobRuns } from '../../domain/schedule/job-runs.ts';
import { ago, number } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { jobDuration, jobNext, jobPeriod } from '../../status/job-messages.ts';
import { foldedPart } from './fold.ts';
import { type Html, html } from './html.ts';
import { tableOf } from './tables.ts';

/** Shows the jobs that fail, wait or are late, and folds the others into one line. */
export function jobsPart({ jobs }: DaemonStatus, now: number, unfolded: boolean): Html {
  const [well, ill] = [jobs.filter(isWell), jobs.filter((job) => !isWell(job))];
  const of = ill.length === 0 ? `All ${number(well.length)}` : `${number(well.length)} of ${number(jobs.length)}`;
  return html`${
    ill.length === 0
      ? null
      : html`<section class="wide"><h2>Jobs that do not run</h2>
${jobsTable(ill, now)}</section>
`
  }${well.length === 0 ? null : foldedPart(`${of} jobs run as planned`, unfolded, jobsTable(well, now))}`;
}

function isWell({ failure, kept_from, overdue }: JobRuns): boolean {
  return failure === null && kept_from === null && overdue === 0;
}

function jobsTable(jobs: readonly JobRuns[], now: number): Html {
  const none = (text: string | null) => text ?? html`<span class="none">none yet</span>`;
  return tableOf<JobRuns>(
    "The daemon's jobs since its start",
    [
      { heading: 'job', cell: ({ name }) => name },
      { heading: 'every', kind: 'number', cell: jobPeriod },
      { heading: 'last run', kind: 'number', cell: ({ last_run_at: at }) => none(at === null ? null : ago(at, now)) },
      { heading: 'took', kind: 'number', cell: (job) => none(jobDuration(job, now)) },
      { heading: 'next', kind: 'number', cell: (job) => jobNext(job, now) },
      { heading: 'state', cell: jobState },
    ],
    jobs,
  );
}

function jobState({ failure, kept_from, overdue, runs }: JobRuns): Html {
  if (failure !== null) return html`<span class="no">✗ failed</span> <code>${failure}</code>`;
  if (kept_from !== null) return html`<span class="some">waits</span> <code>${kept_from}</code>`;
  if (overdue === 0 && runs === 0) return html`<span class="none">not run yet</span>`;
  return overdue === 1 ? html`<span class="some">overdue</span>` : html`<span class="yes">✓ ok</span>`;
}
