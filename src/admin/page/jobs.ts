import type { JobRuns } from '../../domain/schedule/job-runs.ts';
import { ago } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { jobDuration, jobNext, jobPeriod } from '../../status/job-messages.ts';
import { type Html, html } from './html.ts';
import { tableOf } from './tables.ts';

export function jobsPart({ jobs }: DaemonStatus, now: number): Html {
  const none = (text: string | null) => text ?? html`<span class="none">none yet</span>`;
  return html`<section class="wide"><h2>Jobs</h2>
${tableOf<JobRuns>(
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
)}</section>
`;
}

function jobState({ failure, kept_from, overdue, runs }: JobRuns): Html {
  if (failure !== null) return html`<span class="no">✗ failed</span> <code>${failure}</code>`;
  if (kept_from !== null) return html`<span class="some">waits</span> <code>${kept_from}</code>`;
  if (overdue === 0 && runs === 0) return html`<span class="none">not run yet</span>`;
  return overdue === 1 ? html`<span class="some">overdue</span>` : html`<span class="yes">✓ ok</span>`;
}
