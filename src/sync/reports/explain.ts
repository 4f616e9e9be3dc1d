import { restOf } from '../../domain/budget/rests.ts';
import { imageLimitMs, mayShow } from '../../domain/catalogue/image.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import { isList, type Resource } from '../../domain/schedule/resources.ts';
import { type SignalWorth, signalWorth } from '../../domain/schedule/signal.ts';
import { changesPerDay } from '../../domain/schedule/volatility.ts';
import { addDays, venueToday } from '../../domain/time/venue.ts';
import type { MirrorFacts } from '../../mirror/reading.ts';
import type { RecordDetail } from '../../mirror/schedule/record-reads.ts';
import type { Tables } from '../../mirror/sql/tables.ts';
import { leftOutIn } from '../../upstream/passing-members.ts';
import { believed } from '../records/call-value.ts';
import type { SyncFacts } from '../records/context.ts';
import { cadenceOfRecord } from '../records/replan.ts';
import { type WeighedInterest, weighProduct, weightOfRecord } from '../records/weights.ts';
import { type ExplainedClaim, explainClaims } from './explain-claims.ts';

/** All facts that decide when a product is read and how it is shown. Instants in epoch milliseconds; null: never. */
export interface Explanation {
  readonly product_id: number;
  readonly title: string | null;
  readonly sale_status: string;
  readonly sellable: boolean;
  readonly disabled_reason: string | null;
  readonly expected_reopening: string | null;
  /**
   * Instant since which some of its dates are answered as not on sale, regardless of the product's own read, or withheld
   * because the service does not have the product; null: none are.
   */
  readonly dates_off_at: number | null;
  /** End of its pause: the service throttles this product while it answers for others. Null: it does not. */
  readonly throttled_until: number | null;
  readonly withdrawn_at: number | null;
  readonly first_seen_at: number;
  readonly timezone: string | null;
  /** The venue's today; if its zone is unknown, the earliest possible. */
  readonly today: string;
  /** The first matching category; null: none. */
  readonly category: string | null;
  /** Harm that a stale copy does, where 1 is usual: its category's weight times shoppers' interest in it. */
  readonly weight: number;
  readonly weighed: WeighedInterest;
  readonly images: { readonly shown: number; readonly verified_at: number | null; readonly hidden_from: number | null };
  readonly records: readonly ExplainedRecord[];
  /** The claims of its latest answers. */
  readonly claims: readonly ExplainedClaim[];
  /** Members of its latest answers that are there and cannot be read. */
  readonly unreadable: readonly ExplainedUnread[];
  /** True: a working, trusted subscription announces its changes, so it is read less often. */
  readonly covered: boolean;
  /**
   * The reliability of each subscription that covers it: its share of announced changes among those that reads found.
   * Recent changes count most.
   */
  readonly announced_by: readonly {
    readonly subscription_id: string;
    /** From 0 to 1; null: no read has found a change yet that it should have announced. */
    readonly trust: number | null;
    readonly trusted: boolean;
  }[];
  /**
   * Value of the list as a signal for its near dates, and the instant of the last change of its own entry; null: no
   * change since extra reads are made.
   */
  readonly list_signal: SignalWorth & { readonly entry_changed_at: number | null };
  /** The newest notification of each kind about it, newest first. */
  readonly notices: readonly {
    readonly subscription_id: string;
    readonly change_type: string;
    readonly received_at: number;
  }[];
  /** The announced closures, newest first, and the results of reads about them. */
  readonly closures: readonly ExplainedClosure[];
  readonly calls_per_day: number;
}

export interface ExplainedClosure {
  readonly notified_at: number;
  readonly state: 'waits for its read' | 'off sale until read' | 'confirmed' | 'undone' | 'over';
  readonly reason: string | null;
  readonly expected_reopening: string | null;
  readonly alternative_product_id: number | null;
  readonly confirmed_at: number | null;
  readonly ended_at: number | null;
}

export interface ExplainedRecord {
  readonly resource: Resource;
  readonly edition: string;
  /** First and last date of a window of availability; null: another resource. */
  readonly from: string | null;
  readonly to: string | null;
  readonly fetched_at: number | null;
  /** The reason for the last read. */
  readonly fetched_reason: DueReason | null;
  readonly changed_at: number | null;
  readonly due_at: number;
  readonly due_reason: DueReason;
  readonly lane: string;
  readonly cadence_ms: number;
  /** Estimated changes a day; null before two reads. */
  readonly changes_per_day: number | null;
  /**
   * Calls a day as planned now: one read per interval between the last and the next read. If the next read is an
   * exception, one per cadence.
   */
  readonly calls_per_day: number;
  /** The product's weight. A window of dates that shoppers view more than others weighs more. */
  readonly weight: number;
  readonly failures: number;
  /** Instant and text of the failure of the last answer; null: it did not fail. */
  readonly failed_at: number | null;
  readonly failure: string | null;
  /** Instant since which its dates are answered as not on sale; null: the last answer had dates. */
  readonly off_sale_at: number | null;
  /**
   * Instant since which the service leaves out some of its dates or gives wrong-range answers; null: the last answer
   * had all dates.
   */
  readonly unanswered_at: number | null;
  /**
   * Members of its answers that are not kept current: they differ in every answer and feed no column. An answer in which
   * nothing else differs counts as unchanged.
   */
  readonly left_out: readonly string[];
}

const dayMs = 86_400_000;

/** A member of an answer that is there and cannot be read. */
export interface ExplainedUnread {
  readonly resource: string;
  readonly member: string;
  readonly edition: string;
  /** First and last date of the answer; null: it is about the product. */
  readonly from: string | null;
  readonly to: string | null;
  readonly example: string;
  readonly since: number;
  /** True: the answer counts as a failed read, and the mirror keeps what it showed. */
  readonly kept: boolean;
}

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
