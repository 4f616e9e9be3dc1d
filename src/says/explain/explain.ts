import { z } from 'zod';
import { imageLimitMs, mayShow } from '../../catalogue/image.rules.ts';
import { addDays, venueToday } from '../../kernel/time/venue.ts';
import {
  amount,
  count,
  date,
  instant,
  maybe,
  never,
  type Shaped,
  text,
  word,
} from '../../kernel/values/answer-values.ts';
import type { MirrorFacts } from '../../mirror/reading.ts';
import type { Tables } from '../../mirror/sql/tables.ts';
import { believed } from '../../schedule/call-value.ts';
import type { DueReason } from '../../schedule/record.rules.ts';
import type { RecordDetail } from '../../schedule/record-reads.store.ts';
import { cadenceOfRecord } from '../../schedule/replan-products.ts';
import { isList, type Resource } from '../../schedule/resources.rules.ts';
import { signalWorth } from '../../schedule/signal.rules.ts';
import type { SyncFacts } from '../../schedule/sync.ts';
import { changesPerDay } from '../../schedule/volatility.rules.ts';
import { weighProduct, weightOfRecord } from '../../schedule/weights.ts';
import { leftOutIn } from '../../service/passing-members.ts';
import { restOf } from '../../service/rests.rules.ts';
import { explainClaims, explainedClaim } from './explain-claims.ts';

/** The value of the product list as a signal for changes of dates. */
export const signal = z.object({
  shows: amount.meta({ description: 'share of the changes that it shows; null: too few to tell' }),
  wrong: amount.meta({ description: 'share of its signals behind which nothing had changed' }),
  changes: count.meta({ description: 'changes that reads found, those that still count' }),
  signals: count,
});

const explainedRecord = z.object({
  resource: word<Resource>(),
  edition: text,
  /** First and last date of a window of availability; null: another resource. */
  from: date.nullable(),
  to: date.nullable(),
  fetched_at: never,
  /** The reason for the last read. */
  fetched_reason: word<DueReason>().nullable(),
  changed_at: never,
  due_at: instant,
  due_reason: word<DueReason>(),
  lane: text,
  cadence_ms: z.number(),
  /** Estimated changes a day; null before two reads. */
  changes_per_day: z.number().nullable(),
  /**
   * Calls a day as planned now: one read per interval between the last and the next read. If the next read is an
   * exception, one per cadence.
   */
  calls_per_day: z.number(),
  /** The product's weight. A window of dates that shoppers view more than others weighs more. */
  weight: z.number(),
  failures: count,
  /** Instant and text of the failure of the last answer; null: it did not fail. */
  failed_at: never,
  failure: maybe,
  /** Instant since which its dates are answered as not on sale; null: the last answer had dates. */
  off_sale_at: never,
  /**
   * Instant since which the service leaves out some of its dates or gives wrong-range answers; null: the last answer
   * had all dates.
   */
  unanswered_at: never,
  /**
   * Members of its answers that are not kept current: they differ in every answer and feed no column. An answer in which
   * nothing else differs counts as unchanged.
   */
  left_out: z.array(text),
});

const explainedClosure = z.object({
  notified_at: instant,
  state: z.enum(['waits for its read', 'off sale until read', 'confirmed', 'undone', 'over']),
  reason: maybe,
  expected_reopening: maybe,
  alternative_product_id: z.int().nullable(),
  confirmed_at: never,
  ended_at: never,
});

/** All facts that decide when a product is read and how it is shown. Instants in epoch milliseconds; null: never. */
export const explanation = z.object({
  product_id: z.int(),
  title: maybe,
  sale_status: text,
  sellable: z.boolean(),
  disabled_reason: maybe,
  expected_reopening: maybe,
  /**
   * Instant since which some of its dates are answered as not on sale, regardless of the product's own read, or withheld
   * because the service does not have the product; null: none are.
   */
  dates_off_at: never,
  /** End of its pause: the service throttles this product while it answers for others. Null: it does not. */
  throttled_until: never,
  withdrawn_at: never,
  first_seen_at: instant,
  timezone: maybe,
  /** The venue's today; if its zone is unknown, the earliest possible. */
  today: date,
  /** The first matching category; null: none. */
  category: maybe,
  /** Harm that a stale copy does, where 1 is usual: its category's weight times shoppers' interest in it. */
  weight: z.number(),
  weighed: z.object({
    category: z.number(),
    interest: z.number(),
    list_place: z.number().nullable(),
    views: z.number().meta({ description: 'told lately: seen, checked, and ten for each ticket sold' }),
    limited: z.boolean().meta({ description: 'more was told than counts of one product' }),
  }),
  images: z.object({ shown: count, verified_at: never, hidden_from: never }),
  records: z.array(explainedRecord),
  /** The claims of its latest answers. */
  claims: z.array(explainedClaim),
  /** Members of its latest answers that are there and cannot be read. */
  unreadable: z.array(
    z.object({
      resource: text,
      member: text,
      edition: text,
      /** First and last date of the answer; null: it is about the product. */
      from: date.nullable(),
      to: date.nullable(),
      example: text,
      since: instant,
      /** True: the mirror keeps what it showed. */
      kept: z.boolean().meta({ description: 'the answer counts as a failed read' }),
    }),
  ),
  /** True: a working, trusted subscription announces its changes, so it is read less often. */
  covered: z.boolean(),
  /**
   * The reliability of each subscription that covers it: its share of announced changes among those that reads found.
   * Recent changes count most.
   */
  announced_by: z.array(
    z.object({
      subscription_id: text,
      /** From 0 to 1; null: no read has found a change yet that it should have announced. */
      trust: z.number().nullable(),
      trusted: z.boolean(),
    }),
  ),
  /**
   * Value of the list as a signal for its near dates, and the instant of the last change of its own entry; null: no
   * change since extra reads are made.
   */
  list_signal: signal.extend({ entry_changed_at: never }),
  /** The newest notification of each kind about it, newest first. */
  notices: z.array(z.object({ subscription_id: text, change_type: text, received_at: instant })),
  /** The announced closures, newest first, and the results of reads about them. */
  closures: z.array(explainedClosure),
  calls_per_day: z.number(),
});
export type Explanation = Shaped<typeof explanation>;
export type ExplainedClosure = Explanation['closures'][number];
export type ExplainedRecord = Explanation['records'][number];

const dayMs = 86_400_000;

/** Explains one product; returns null if it is not mirrored. */
export function explainProduct(facts: SyncFacts, product_id: number): Explanation | null {
  const { mirror, clock, policy } = facts;
  const known = mirror.catalogue.products.find(product_id);
  const shown = mirror.catalogue.products.shown(product_id);
  if (known === null || shown === null) return null;
  const now = clock.now();
  const own = policy.of(known.category);
  const { earliest: today } = venueToday(known.timezone, now);
  const among = mirror.schedule.budget.demand()?.interest ?? {
    products: mirror.catalogue.products.count(),
    most: Number.MAX_VALUE,
  };
  const weights = weighProduct(facts, known, among);
  const { weight, windows: _windows, dated: _dated, ...weighed } = weights;
  // A record of a place in a list that nothing requests is dropped when it is due, without a call.
  const read = mirror.schedule.records
    .ofProduct(product_id)
    .filter(({ resource, due_reason }) => !isList(resource) || due_reason !== 'cadence-elapsed');
  const datesOf = (resource: Resource, wanted: number) => {
    const window = resource === 'availability' ? own.extent.windows.find(({ part }) => part === wanted) : undefined;
    return {
      from: window === undefined ? null : addDays(today, window.first_day),
      to: window === undefined ? null : addDays(today, window.last_day),
    };
  };
  const records = read.map((record) => ({
    ...explainRecord(record, cadenceOfRecord(own, record, known)),
    weight: weightOfRecord(weights, record),
    ...datesOf(record.resource, record.part),
  }));
  const { images, images_verified_at, ...rest } = shown;
  return {
    product_id,
    ...rest,
    dates_off_at: known.dates_off_at,
    throttled_until: throttledUntil(mirror, product_id, now),
    timezone: known.timezone,
    today,
    category: known.category,
    weight,
    weighed,
    images: {
      shown: images_verified_at !== null && mayShow(images_verified_at, now) ? images : 0,
      verified_at: images_verified_at,
      hidden_from: images_verified_at === null ? null : images_verified_at + imageLimitMs,
    },
    records,
    claims: explainClaims(mirror, product_id, read, { datesOf, extent: own.extent, now }),
    unreadable: mirror.evidence.unread
      .ofProduct({ product_id })
      .map(({ resource, member, edition, part, example, first_at, kept }) => ({
        resource,
        member,
        edition,
        ...datesOf(resource as Resource, part),
        example,
        since: first_at,
        kept: kept === 1,
      })),
    covered: known.covered,
    announced_by: announcersOf(mirror, product_id),
    list_signal: { ...signalWorth(mirror.schedule.signals.of('near')), entry_changed_at: known.signal_at },
    notices: mirror.push.notices
      .noticesOf({ product_id })
      .map(({ subscription_id, change_type, received_at }) => ({ subscription_id, change_type, received_at })),
    closures: mirror.push.closures.ofProduct({ product_id }).map(explainClosure),
    calls_per_day: records.reduce((sum, { calls_per_day }) => sum + calls_per_day, 0),
  };
}

function throttledUntil({ schedule: { budget } }: MirrorFacts, product_id: number, now: number): number | null {
  const learned = budget.learned();
  const rest = learned === null ? null : restOf(learned, product_id, now);
  return rest?.alone === 1 ? rest.until : null;
}

function announcersOf({ push: { notices } }: MirrorFacts, product_id: number): Explanation['announced_by'] {
  return notices
    .announcers({ product_id, change_type: 'product_details_update' })
    .map(({ subscription_id, announced, announceable, trusted }) => ({
      subscription_id,
      trust: announceable === 0 ? null : announced / announceable,
      trusted: trusted === 1,
    }));
}

function explainClosure(closure: Tables['_closure']): ExplainedClosure {
  const { notified_at, applied_at, confirmed_at, ended_at, reason, expected_reopening, alternative_product_id } =
    closure;
  const open = confirmed_at !== null ? 'confirmed' : applied_at === null ? 'waits for its read' : 'off sale until read';
  const state = ended_at === null ? open : confirmed_at === null ? 'undone' : 'over';
  return { notified_at, state, reason, expected_reopening, alternative_product_id, confirmed_at, ended_at };
}

/** Reasons for recurring reads. A retry, a notification and a request each cause a single call. */
const recurring: ReadonlySet<DueReason> = new Set(['cadence-elapsed', 'likely-changed', 'reopening-look']);

function explainRecord(record: RecordDetail, cadence_ms: number) {
  const { resource, edition, fetched_at, fetched_reason, changed_at, due_at, due_reason, lane, failures, failure } =
    record;
  const planned = fetched_at !== null && recurring.has(due_reason);
  const span = planned ? Math.max(due_at - fetched_at, 60_000) : cadence_ms;
  return {
    resource,
    edition,
    fetched_at,
    fetched_reason,
    changed_at,
    due_at,
    due_reason,
    lane,
    cadence_ms,
    changes_per_day: record.shape === null ? null : changesPerDay(believed(record)),
    calls_per_day: dayMs / span,
    failures,
    failed_at: record.failed_at,
    failure,
    off_sale_at: record.off_sale_at,
    unanswered_at: record.unanswered_at,
    left_out: leftOutIn(record.body_hash ?? ''),
  };
}
