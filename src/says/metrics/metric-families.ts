import { subjectNames } from '../../trust/claims.rules.ts';
import type { OutdatedShare } from '../../trust/error-estimate.rules.ts';
import { isOpen } from '../../trust/hold.rules.ts';
import { conditionCodes } from '../conditions/table.rules.ts';
import type { DaemonStatus } from '../status/daemon-status.ts';
import type { Freshness } from '../status/status.store.ts';
import { verdictOf } from '../status/verdict.ts';
import type { Family, Labels, Sample } from './exposition.ts';
import type { ProcessFigures } from './process-figures.ts';

/** The metrics about outdated data that shoppers see, and about the mirror's errors found by checks and orders. */
const truthFamilies: readonly MeasuredFamily[] = [
  gauge(
    'catalogued_outdated_ratio',
    'Share of what shoppers see that is outdated, by random reads of seven days; absent until there are enough.',
    byReads(({ share }) => share),
  ),
  gauge(
    'catalogued_outdated_margin_ratio',
    'How far the true share may lie from it, 19 times in 20.',
    byReads(({ margin }) => margin),
  ),
  gauge(
    'catalogued_audited_reads',
    'Random reads of seven days that showed whether the mirror was right.',
    byReads(({ audited }) => audited),
  ),
  gauge(
    'catalogued_availability_error_ratio',
    'Share of checks and orders in which the mirror was wrong; absent before the first.',
    ({ status }) => one(status.error_rate.rate),
  ),
  gauge(
    'catalogued_availability_checks',
    'Checks that showed whether the mirror was right, by tier.',
    byTier('checks'),
  ),
  gauge('catalogued_availability_checks_wrong', 'Those in which the mirror was wrong.', byTier('wrong')),
  gauge(
    'catalogued_availability_orders',
    'Orders that showed whether the mirror was right, by tier.',
    byTier('orders'),
  ),
  gauge('catalogued_availability_orders_wrong', 'Those in which the mirror was wrong.', byTier('orders_wrong')),
  gauge('catalogued_availability_checks_unanswered', 'Checks that the service did not answer.', ({ status }) =>
    one(status.error_rate.unanswered),
  ),
];

/** Returns a figure for all dates, and for those of each tier. */
function byReads(figure: (of: OutdatedShare) => number | null): MeasuredFamily['of'] {
  return ({ status: { truth } }) =>
    [{ ...truth, tier: 'all' }, ...truth.by_tier].flatMap((each) => some({ tier: each.tier }, figure(each)));
}

/** Returns counts by tier. Rows are deleted after `retention.changes`, so these are gauges, not counters. */
function byTier(count: 'checks' | 'wrong' | 'orders' | 'orders_wrong'): MeasuredFamily['of'] {
  return ({ status }) => status.error_rate.by_tier.map((row) => ({ labels: { tier: row.tier }, value: row[count] }));
}

/** The metrics about conditions, in the order of their table. */
const conditionFamilies: readonly MeasuredFamily[] = [
  gauge(
    'catalogued_condition',
    'Is 1 while a condition holds and is no consequence of another one, else 0.',
    ({ status: { conditions } }) => {
      const held = new Set(conditions.map(({ code }) => code));
      return conditionCodes.map((code) => ({ labels: { code }, value: bit(held.has(code)) }));
    },
  ),
  gauge(
    'catalogued_condition_acknowledged',
    'Of the conditions that hold: is 1 if a person has acknowledged it, else 0.',
    ({ status }) =>
      status.conditions.map(({ code, acknowledged }) => ({ labels: { code }, value: bit(acknowledged !== null) })),
  ),
  gauge(
    'catalogued_alarm',
    'Is 1 while a condition holds, also as a consequence of another one, else 0; catalogued_condition says more.',
    ({ status: { conditions } }) => {
      const held = new Set(conditions.flatMap(({ code, explains }) => [code, ...explains]));
      return conditionCodes.map((kind) => ({ labels: { kind }, value: bit(held.has(kind)) }));
    },
  ),
];

/** The metrics about the process, with the names that Prometheus' own clients use. */
const processFamilies: readonly MeasuredFamily[] = [
  gauge('process_start_time_seconds', 'Start time of the daemon.', ({ process }) => one(process.started_at / 1000)),
  counter('process_cpu_seconds_total', 'Processor time, user and system.', ({ process }) => one(process.cpu_seconds)),
  gauge('process_resident_memory_bytes', 'Resident memory.', ({ process }) => one(process.resident_bytes)),
  gauge('nodejs_heap_size_used_bytes', 'Memory of the heap in use.', ({ process }) => one(process.heap_bytes)),
  gauge(
    'nodejs_eventloop_lag_p99_seconds',
    'Delay of the event loop since the last scrape, 99th percentile.',
    ({ process }) => one(process.loop_delay_p99_seconds),
  ),
  gauge(
    'nodejs_eventloop_lag_max_seconds',
    'The longest delay of the event loop since the last scrape.',
    ({ process }) => one(process.loop_delay_max_seconds),
  ),
];

/** The metrics about publishing into a database and its leader; without samples if no database is configured. */
const databaseFamilies: readonly MeasuredFamily[] = [
  gauge('catalogued_published_state', 'The last state that was published into the database.', ({ status }) =>
    one(status.database?.state ?? null),
  ),
  gauge(
    'catalogued_published_lag_seconds',
    'How old what is published is; 0 if nothing has changed since.',
    ({ status }) => one(seconds(status.database?.lag_ms ?? null)),
  ),
  gauge('catalogued_leader', 'Is 1 for the instance that leads.', ({ status: { database } }) =>
    some({ instance: database?.leads?.name ?? '' }, database?.leads == null ? null : 1),
  ),
  gauge('catalogued_term', 'Term of the instance that leads.', ({ status }) =>
    one(status.database?.leads?.term ?? null),
  ),
  gauge('catalogued_standbys', 'Instances that stand by.', ({ status }) => one(status.database?.standbys ?? null)),
  gauge(
    'catalogued_database_oldest_transaction_seconds',
    'How long a transaction has been keeping rows of the database from being removed.',
    ({ status }) => one(seconds(status.database?.vacuum_held_ms ?? null)),
  ),
];

/**
 * The metrics of `/metrics`, all computed from the status. Instants are in seconds, so an age is `time() - x`. Labels
 * are resources, tiers, lanes, kinds, jobs and declared subscriptions, and never a product, an address or text of the
 * service.
 */
export const metricFamilies: readonly MeasuredFamily[] = [
  gauge('catalogued_info', 'Version and contract of the mirror; always 1.', ({ status }) => [
    {
      labels: {
        written_by: status.written_by,
        contract_version: String(status.contract_version),
        schema_version: String(status.schema_version),
      },
      value: 1,
    },
  ]),
  gauge(
    'catalogued_true',
    'Is 1 if the mirror is filled and no condition is active, but for acknowledged warnings; else 0.',
    ({ status, now }) => one(bit(verdictOf(status, now).state === 'true')),
  ),
  gauge(
    'catalogued_counted_timestamp_seconds',
    'Time at which the records were counted: for each scrape of a small mirror, else every 15 to 60 s.',
    ({ status }) => one(seconds(status.as_of)),
  ),
  gauge(
    'catalogued_filled_timestamp_seconds',
    'Time at which every record had been read once; absent until then.',
    ({ status }) => one(seconds(status.filled_at)),
  ),

  gauge('catalogued_records', 'Records by resource, tier and state: fresh, stale or expired.', ({ status }) =>
    status.freshness.flatMap((line) =>
      (['fresh', 'stale', 'expired'] as const).map((state) => ({
        labels: { ...target(line), state },
        value: line[state],
      })),
    ),
  ),
  gauge(
    'catalogued_freshness_target_met',
    'Is 1 if every record is within its freshness target, else 0.',
    ({ status }) => status.freshness.map((line) => ({ labels: target(line), value: line.met })),
  ),
  gauge('catalogued_freshness_target_seconds', 'Freshness target: maximum age of a record.', ({ status }) =>
    status.freshness.map((line) => ({ labels: target(line), value: line.target_ms / 1000 })),
  ),
  gauge(
    'catalogued_oldest_read_timestamp_seconds',
    'Time at which the oldest record was read; 0 if one was never read.',
    ({ status }) => status.freshness.flatMap((line) => some(target(line), seconds(line.oldest_checked_at))),
  ),
  gauge('catalogued_records_never_read', 'Records that were never read.', ({ status }) =>
    one(status.records.never_fetched),
  ),
  gauge('catalogued_records_failing', 'Records whose last read failed.', ({ status }) => one(status.records.failing)),
  gauge(
    'catalogued_records_quarantined',
    'Records retried ever more rarely, in the end once a day, after several failures in a row.',
    ({ status }) => one(status.records.quarantined),
  ),

  gauge('catalogued_products_visible', 'Products that storefronts see.', ({ status }) => one(status.products.visible)),
  gauge('catalogued_products_sellable', 'Products on sale.', ({ status }) => one(status.products.sellable)),
  gauge('catalogued_bookable_days', 'Bookable days in the primary currency.', ({ status }) =>
    one(status.bookable.currency === null ? null : status.bookable.days),
  ),
  gauge('catalogued_products_withdrawn', 'Products that the service no longer offers.', ({ status }) =>
    one(status.products.withdrawn),
  ),
  gauge('catalogued_images_shown', 'Images shown now.', ({ status }) => one(status.images)),
  gauge(
    'catalogued_images_oldest_confirmed_timestamp_seconds',
    'Time at which the oldest shown image was last confirmed.',
    ({ status }) => one(seconds(status.oldest_image_at)),
  ),

  counter('catalogued_calls_total', 'Calls to the service since the start, by lane.', ({ status }) =>
    labelled('lane', status.daemon.lanes),
  ),
  gauge('catalogued_calls_in_flight', 'Calls in flight.', ({ status }) => one(status.daemon.calls_in_flight)),
  gauge('catalogued_call_rate_limit', 'Calls a second allowed now, as learned.', ({ status }) =>
    one(status.daemon.rate),
  ),
  gauge('catalogued_call_rate_ceiling', 'Calls a second at most, as configured.', ({ status }) =>
    one(status.daemon.ceiling),
  ),
  counter('catalogued_throttled_total', 'Answers since the start that throttled us.', ({ status }) =>
    one(status.daemon.throttled),
  ),
  gauge(
    'catalogued_paused_until_timestamp_seconds',
    'End of the pause in which no call is sent; absent without a pause.',
    ({ status, now }) => one((status.daemon.not_before ?? 0) > now ? seconds(status.daemon.not_before) : null),
  ),
  gauge('catalogued_service_reachable', 'Is 1 if the service can be reached, else 0.', ({ status }) =>
    one(bit(status.daemon.unreachable_since === null)),
  ),
  gauge('catalogued_key_refused', 'Is 1 if the service refuses the key, else 0.', ({ status }) =>
    one(bit(status.daemon.key_refused !== null)),
  ),

  counter('catalogued_deliveries_received_total', 'Deliveries ever stored.', ({ status }) =>
    one(status.inbox.received),
  ),
  counter('catalogued_deliveries_settled_total', 'Deliveries ever settled, by outcome.', ({ status }) => {
    const { applied, superseded, quarantined } = status.inbox;
    return labelled('outcome', { applied, superseded, quarantined });
  }),
  gauge('catalogued_deliveries_waiting', 'Deliveries stored and not applied yet.', ({ status }) =>
    one(status.inbox.waiting),
  ),
  gauge('catalogued_deliveries_bytes', 'Size of the deliveries in the inbox.', ({ status }) =>
    one(status.inbox.stored_bytes),
  ),
  gauge('catalogued_deliveries_bytes_limit', 'Limit of that size: retention.deliveries_bytes.', ({ status }) =>
    one(status.inbox.budget_bytes),
  ),
  counter(
    'catalogued_delivery_bodies_gone_total',
    'Bodies ever deleted early to stay within that limit.',
    ({ status }) => one(status.inbox.bodies_gone),
  ),
  gauge(
    'catalogued_last_delivery_timestamp_seconds',
    'Time of the last delivery; absent before the first.',
    ({ status }) => one(seconds(status.inbox.last_delivery_at)),
  ),
  counter(
    'catalogued_receiver_refused_total',
    'Requests since the start that the receiver answered 404, by reason.',
    ({ status }) => (status.inbox.receiver === null ? [] : labelled('reason', status.inbox.receiver.refused)),
  ),
  counter(
    'catalogued_receiver_failed_total',
    'Deliveries since the start that could not be stored (503).',
    ({ status }) => one(status.inbox.receiver?.failed ?? null),
  ),
  counter(
    'catalogued_receiver_unfinished_total',
    'Deliveries since the start whose sender disconnected.',
    ({ status }) => one(status.inbox.receiver?.unfinished ?? null),
  ),
  counter(
    'catalogued_receiver_crowded_total',
    'Deliveries since the start answered 503 because too much came at once.',
    ({ status }) => one(status.inbox.receiver?.crowded ?? null),
  ),
  counter('catalogued_receiver_truncated_total', 'Deliveries since the start that were truncated.', ({ status }) =>
    one(status.inbox.receiver?.truncated ?? null),
  ),

  gauge(
    'catalogued_closures_unconfirmed',
    'Products off sale by an announcement that no read has confirmed yet.',
    ({ status }) => one(status.closures.unconfirmed),
  ),
  gauge(
    'catalogued_closures_held',
    'Announced closures held back, because there are too many, until their reads.',
    ({ status }) => one(status.closures.held),
  ),
  gauge(
    'catalogued_held_records',
    'Records that claim what is held, because too many do, by kind.',
    ({ status: { held } }) =>
      subjectNames.map((kind) => ({
        labels: { kind },
        value: held.find((each) => each.subject === kind && isOpen(each))?.claiming ?? 0,
      })),
  ),
  gauge(
    'catalogued_notification_gaps',
    'Periods without notifications whose products are not all read again yet; at most ten.',
    ({ status }) => one(status.gaps.length),
  ),
  ...conditionFamilies,

  gauge('catalogued_subscription_status', 'The status of each subscription; always 1.', ({ status }) =>
    status.subscriptions.map((each) => ({
      labels: { subscription: each.subscription_id, status: knownStatus(each.status) },
      value: 1,
    })),
  ),
  gauge(
    'catalogued_subscription_trusted',
    'Is 1 if the subscription is trusted, so that covered products are read less often, else 0.',
    ({ status }) =>
      status.subscriptions.map(({ subscription_id, trusted }) => ({
        labels: { subscription: subscription_id },
        value: trusted,
      })),
  ),
  gauge(
    'catalogued_subscription_trust_ratio',
    'Share of the changes it should have announced that it did announce.',
    ({ status }) =>
      status.subscriptions.flatMap(({ subscription_id, trust }) => some({ subscription: subscription_id }, trust)),
  ),
  gauge('catalogued_subscription_last_delivery_timestamp_seconds', 'Time of its last delivery.', ({ status }) =>
    status.subscriptions.flatMap((each) =>
      some({ subscription: each.subscription_id }, seconds(each.last_delivery_at)),
    ),
  ),

  ...truthFamilies,

  ...databaseFamilies,

  gauge(
    'catalogued_snapshot_published_timestamp_seconds',
    'Time at which the snapshot for readers on other hosts was made.',
    ({ status }) => one(seconds(status.snapshot?.published_at ?? null)),
  ),
  gauge(
    'catalogued_snapshot_late',
    'Is 1 if the snapshot is missing or older than two periods, else 0.',
    ({ status }) => one(status.snapshot?.late ?? null),
  ),
  gauge('catalogued_backup_made_timestamp_seconds', 'Time at which the newest backup was made.', ({ status }) =>
    one(seconds(status.backup.made_at)),
  ),
  gauge(
    'catalogued_backup_late',
    'Is 1 if the newest backup is older than two intervals, or there is none, else 0.',
    ({ status }) => one(status.backup.late),
  ),
  gauge(
    'catalogued_backup_unusable',
    'Is 1 if the backup that was last restored on trial cannot be restored, else 0.',
    ({ status }) => one(status.backup.tried_failure === null ? 0 : 1),
  ),
  gauge(
    'catalogued_storage_trouble',
    'Is 1 while a full disk or another writer keeps a file from being written, else 0.',
    ({ status: { storage } }) =>
      (['disk-full', 'locked'] as const).map((kind) => ({
        labels: { kind },
        value: bit(storage.trouble?.kind === kind),
      })),
  ),
  gauge(
    'catalogued_storage_missing_bytes',
    'Bytes that must become free while the disk is full.',
    ({ status: { storage } }) => one(storage.trouble?.missing_bytes ?? null),
  ),
  gauge('catalogued_disk_free_bytes', 'Free bytes on the disk of a file.', ({ status: { storage } }) =>
    storage.directories.map(({ of, free_bytes }) => ({ labels: { file: of }, value: free_bytes })),
  ),
  gauge('catalogued_disk_low_bytes', 'Bulk reads pause below this many free bytes.', ({ status: { storage } }) =>
    storage.directories.map(({ of, low_below_bytes }) => ({ labels: { file: of }, value: low_below_bytes })),
  ),
  gauge('catalogued_mirror_bytes', 'Size of the mirror.', ({ status }) => one(status.file_bytes)),
  gauge('catalogued_wal_bytes', "Size of the mirror's write-ahead log.", ({ status }) => one(status.wal_bytes)),

  gauge(
    'catalogued_job_last_run_timestamp_seconds',
    'Time at which the last run of a job began; absent before the first.',
    ({ status }) => status.jobs.flatMap(({ name, last_run_at }) => some({ job: name }, seconds(last_run_at))),
  ),
  gauge('catalogued_job_last_run_seconds', 'Duration of the last run of a job; absent while it runs.', ({ status }) =>
    status.jobs.flatMap(({ name, last_ms }) => some({ job: name }, seconds(last_ms))),
  ),
  gauge('catalogued_job_next_run_timestamp_seconds', 'Time of the next run of a job.', ({ status }) =>
    status.jobs.flatMap(({ name, next_at }) => some({ job: name }, seconds(next_at))),
  ),
  gauge('catalogued_job_failing', 'Is 1 if the last run of a job failed, else 0.', ({ status }) =>
    status.jobs.map(({ name, failure }) => ({ labels: { job: name }, value: bit(failure !== null) })),
  ),
  gauge('catalogued_job_overdue', 'Is 1 if a job should have run, or ended, some time ago, else 0.', ({ status }) =>
    status.jobs.map(({ name, overdue }) => ({ labels: { job: name }, value: overdue })),
  ),

  ...processFamilies,
];

function target({ resource, tier }: Freshness): Labels {
  return { resource, tier: tier ?? '' };
}

const statuses = new Set(['active', 'accepted', 'degraded', 'failed', 'cancelled', 'missing']);

/** Replaces an unknown status by `other`, because the service could send anything. */
function knownStatus(status: string | null): string {
  return status === null ? 'unknown' : statuses.has(status) ? status : 'other';
}

/* The facts from which `/metrics` is computed. */

interface Facts {
  readonly status: DaemonStatus;
  readonly process: ProcessFigures;
  readonly now: number;
}

interface MeasuredFamily extends Family {
  readonly of: (facts: Facts) => readonly Sample[];
}

function gauge(name: string, help: string, of: MeasuredFamily['of']): MeasuredFamily {
  return { name, type: 'gauge', help, of };
}

/** Returns a counter. It only grows, but may start from zero with the process. */
function counter(name: string, help: string, of: MeasuredFamily['of']): MeasuredFamily {
  return { name, type: 'counter', help, of };
}

function one(value: number | null): Sample[] {
  return some({}, value);
}

/** Returns one sample, or none for a missing value, because an unmeasured value is not 0. */
function some(labels: Labels, value: number | null): Sample[] {
  return value === null ? [] : [{ labels, value }];
}

function labelled(label: string, values: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function bit(condition: boolean): 0 | 1 {
  return condition ? 1 : 0;
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
