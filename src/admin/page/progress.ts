import { duration, number, remaining, resourceLabel } from '../../format.ts';
import type { DaemonStatus } from '../../status/daemon-status.ts';
import { type Html, html } from './html.ts';
import type { PageMemory } from './memory.ts';
import { tableOf } from './tables.ts';

interface Row {
  readonly what: string;
  readonly done: number;
  readonly all: number;
  readonly failed: number;
  /** The remaining time as text. */
  readonly left: string;
}

/** Shows the progress of the first fill and of resyncs; null: none is under way. */
export function progressPart(status: DaemonStatus, { resyncs }: PageMemory, now: number): Html | null {
  const rows = [...fillOf(status, now), ...resyncs.map((job) => resyncOf(job, status, now))];
  if (rows.length === 0) return null;
  return html`<section class="wide"><h2>Under way</h2>
${tableOf<Row>(
  'What is read beside the schedule',
  [
    { heading: 'what', cell: ({ what }) => what },
    { heading: 'share', cell: bar },
    { heading: 'records', kind: 'number', cell: ({ done, all }) => `${number(done)} of ${number(all)}` },
    { heading: 'failed', kind: 'number', cell: ({ failed }) => number(failed) },
    { heading: 'left', kind: 'number', cell: ({ left }) => left },
  ],
  rows,
)}</section>
`;
}

function fillOf(status: DaemonStatus, now: number): Row[] {
  const { filled_at, records, daemon } = status;
  if (filled_at !== null) return [];
  const left = standsStill(status, now) ?? atRate(records.never_fetched, daemon.rate);
  const done = records.all - records.never_fetched;
  const what = 'First fill';
  return [{ what, done, all: records.all, failed: records.failing, left: records.all === 0 ? 'not known yet' : left }];
}

/**
 * Returns the progress of a resync. The remaining time follows from its speed so far, which depends on other reads and
 * on the service.
 */
function resyncOf(job: PageMemory['resyncs'][number], status: DaemonStatus, now: number): Row {
  const { job_id, requested_at, records, left: unread, failed, selection } = job;
  const done = records - unread;
  const { kinds, product_ids } = selection;
  const named = [...new Set(kinds.map(({ resource }) => resourceLabel(resource)))].join(', ');
  const products = product_ids?.filter((id) => id !== 0) ?? null;
  const of =
    products === null
      ? ''
      : ` of ${products.length === 1 ? `product ${products[0]}` : `${number(products.length)} products`}`;
  const so_far = Math.max(0, now - requested_at);
  const left =
    standsStill(status, now) ??
    (done === 0 ? atRate(unread, status.daemon.rate) : `about ${remaining((unread * so_far) / done)}`);
  return { what: `Resync ${job_id}: ${named}${of}`, done, all: records, failed, left };
}

function standsStill({ daemon: { key_refused, told_until, unreachable_since } }: DaemonStatus, now: number) {
  if (key_refused !== null) return 'waits for a key';
  if (unreachable_since !== null) return 'waits for the service';
  return told_until !== null && told_until > now ? `waits another ${duration(told_until - now)}` : null;
}

function atRate(records: number, rate: number): string {
  return rate <= 0 ? 'not known' : `at least ${remaining((records / rate) * 1000)}`;
}

function bar({ done, all }: Row): Html {
  const share = all === 0 ? 0 : Math.floor((100 * done) / all);
  return html`<svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="${share} %"><rect class="fresh" width="${share}" height="4"/></svg>`;
}
