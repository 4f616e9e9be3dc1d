import { soldBy, weightOf } from '../../domain/catalogue/category.ts';
import { listRetryAt, quarantineAfter, retryAt, soonListRetryAt, soonRetryAt } from '../../domain/schedule/backoff.ts';
import { dueByCadence, dueByWorth } from '../../domain/schedule/cadence.ts';
import { noExtraCalls } from '../../domain/schedule/price.ts';
import { type Due, futureToleranceMs, mayReplace, type RecordFacts } from '../../domain/schedule/record.ts';
import { usualLane } from '../../domain/schedule/resources.ts';
import { afterVisit, priorVolatility, type Volatility } from '../../domain/schedule/volatility.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';
import type { Reading } from '../../upstream/client.ts';
import { noteAnswer } from './absence.ts';
import type { SyncPorts } from './context.ts';
import { decidesAbsence } from './deciding-reads.ts';

/** What refreshing a record came to. */
export type Refreshed =
  | { readonly kind: 'stored'; readonly changed: boolean }
  /** The record's own failure: it is tried again after a backoff, and nobody else waits. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** Back-pressure or no connection: not the record's fault, it stays due. */
  | { readonly kind: 'postponed' }
  /** The service refuses the key: nothing else will go better. */
  | { readonly kind: 'key-refused'; readonly message: string };

/** A read that brought nothing: its outcome, or an answer that is about other dates or ends before the first one asked for. */
export type NoAnswer =
  | Exclude<Reading<never>, { kind: 'read' | 'unchanged' }>
  | { readonly kind: 'failed'; readonly code: 'other-dates' | 'capped'; readonly message: string };

/** A read that was answered, as its record's schedule sees it. */
export interface StoredRead {
  readonly sent_at: number;
  readonly changed: boolean;
  readonly body_hash: string | null;
  readonly cadence: number;
  /** The product, where a call for it may be worth more than its cadence asks for. */
  readonly worth?: KnownProduct;
  /** An answer that says nothing about what the record holds teaches nothing about how often it changes. */
  readonly teaches?: 'nothing';
  /** Due before its cadence for a reason of its own; null: for none. */
  readonly sooner?: Due | null;
  /** Since when answers say "not on sale"; null: this one speaks of days. */
  readonly off_sale_at?: number | null;
  /** Since when the service leaves out some of its dates; null: it spoke of all. */
  readonly unanswered_at?: number | null;
}

/** A record was read and stored: when it is due again, in the transaction that stored it. */
export function settleStored(
  ports: Pick<SyncPorts, 'mirror' | 'policy' | 'clock' | 'log'>,
  record: RecordFacts,
  read: StoredRead,
): Refreshed {
  const { sent_at, changed, body_hash, cadence } = read;
  const now = ports.clock.now();
  // While this read was under way a check may have read the same, or a failed order told of it.
  const current = ports.mirror.records.find(record) ?? record;
  const overtaken = current.fetched_at !== record.fetched_at && !mayReplace(current.fetched_at, sent_at, now);
  if (overtaken) return { kind: 'stored', changed };
  const volatility = read.teaches === 'nothing' ? null : learned(current, read, now);
  const due = dueAfter(ports, record, read, volatility);
  ports.mirror.records.fetched(record, {
    sent_at,
    changed,
    body_hash,
    stale_at: sent_at + cadence,
    due: read.sooner != null && read.sooner.at < due.at ? read.sooner : due,
    volatility,
    off_sale_at: read.off_sale_at ?? null,
    unanswered_at: read.unanswered_at ?? null,
  });
  if (decidesAbsence(ports.policy, record)) noteAnswer(ports, record.product_id, 'there');
  return { kind: 'stored', changed };
}

function dueAfter(
  { mirror, policy, clock }: Pick<SyncPorts, 'mirror' | 'policy' | 'clock'>,
  record: RecordFacts,
  { sent_at, cadence, worth }: StoredRead,
  volatility: Volatility | null,
): Due {
  if (policy.adaptive === null || worth === undefined) return dueByCadence(record, sent_at, cadence);
  return dueByWorth(record, sent_at, cadence, {
    volatility: volatility ?? believed(record),
    weight: weightOf(policy.of(worth.category).weight, soldBy(clock.now(), worth.sold, worth.sold_at)),
    price: mirror.budget.price() ?? noExtraCalls,
    floor: policy.adaptive.floor,
  });
}

/**
 * What this visit teaches; null where there is no earlier one to compare it with. A change that a failed order has told
 * of is known since then.
 */
function learned(record: RecordFacts, { sent_at, changed }: StoredRead, now: number): Volatility | null {
  const { fetched_at, told_at } = record;
  if (fetched_at === null || fetched_at > now + futureToleranceMs || fetched_at >= sent_at) return null;
  if (told_at === null || told_at < fetched_at || told_at > now + futureToleranceMs)
    return afterVisit(believed(record), sent_at - fetched_at, changed, priorOf(record));
  return afterVisit(believed(record), sent_at - told_at, false, priorOf(record));
}

/** A failed order says that a record has changed since its last read: what that teaches, once between two reads. */
export function noteTold({ mirror }: Pick<SyncPorts, 'mirror'>, record: RecordFacts, at: number): void {
  const { fetched_at, told_at } = record;
  if (fetched_at === null || fetched_at >= at || (told_at !== null && told_at >= fetched_at)) return;
  mirror.records.told(record, at, afterVisit(believed(record), at - fetched_at, true, priorOf(record)));
}

/** What is believed of how often a record changes: what its visits taught, or what is usual for its kind. */
export function believed(record: Pick<RecordFacts, 'resource' | 'part' | 'shape' | 'exposure'>): Volatility {
  const { shape, exposure } = record;
  return shape === null || exposure === null ? priorOf(record) : { shape, exposure };
}

function priorOf({ resource, part }: Pick<RecordFacts, 'resource' | 'part'>): Volatility {
  return priorVolatility(usualLane(resource, part));
}

/** A read came to nothing: whose fault it is, and when again. The old copy stays. */
export function settleFailure(
  ports: Pick<SyncPorts, 'mirror' | 'clock' | 'chance' | 'policy' | 'log' | 'retries'>,
  record: RecordFacts,
  reading: NoAnswer,
): Refreshed {
  if (reading.kind === 'throttled' || reading.kind === 'unreachable') return { kind: 'postponed' };
  if (reading.kind === 'refused' && reading.status === 401) return { kind: 'key-refused', message: reading.message };
  const { code, message } = reading;
  // A service that answers for other dates does so again: nobody who waits for a resync is kept waiting for that.
  recordFailure(ports, record, { code, message, final: reading.kind === 'refused' || code === 'other-dates' });
  const gone = reading.kind === 'refused' && (reading.status === 404 || reading.status === 410);
  if (gone && decidesAbsence(ports.policy, record)) {
    const answer = reading.status === 410 ? 'permanently-gone' : 'gone';
    ports.mirror.transaction(() => noteAnswer(ports, record.product_id, answer));
  }
  return { kind: 'failed', code, message };
}

/** Counts a failure of the record. A `final` one (the service said no) or the fifth in a row ends its part in a resync. */
export function recordFailure(
  { mirror, clock, chance, retries }: Pick<SyncPorts, 'mirror' | 'clock' | 'chance' | 'retries'>,
  record: RecordFacts,
  { code, message, final }: { code: string; message: string; final: boolean },
): void {
  const now = clock.now();
  const failures = record.failures + 1;
  // A refusal is the service's answer: asked again at once, it says the same.
  const wanted = !final && (record.fetched_at === null || record.job_id !== null);
  const soon = wanted && (failures >= quarantineAfter || retries.take() === 'soon');
  const again = record.product_id === 0 ? (soon ? soonListRetryAt : listRetryAt) : soon ? soonRetryAt : retryAt;
  mirror.transaction(() => {
    // What a notification asked for is still asked for: it stays in its lane, and in its share.
    const reason = record.notified_at === null ? ('retry' as const) : ('notified' as const);
    const due = { at: again(failures, chance(), now), reason };
    mirror.records.failed(record, { at: now, text: `${code}: ${message}`, due });
    if (record.job_id !== null && (final || failures >= quarantineAfter)) mirror.jobs.giveUp(record, record.job_id);
  });
}
