import type { Instant } from '../../clock.ts';
import type { Resource } from './resources.ts';

/* A record is the content of one request: a list (walked page by page), or one resource of one product. */

/** Reason why a record is due: the same word in logs, `explain` and tests. */
export type DueReason =
  /** It was never stored. */
  | 'never-fetched'
  /** A notification announced that its product has changed (specification §6). */
  | 'notified'
  /** It does not show what a notification announced: a cache may have answered (domain/push/news.ts). */
  | 'not-shown-yet'
  /** A notification closed its product, and no read has decided yet: goes first. */
  | 'closure-unconfirmed'
  /** Nothing could be received for longer than the service retries, so covered products are read again. */
  | 'gap-healing'
  /** Its cadence has passed. */
  | 'cadence-elapsed'
  /** Before its cadence has passed: by its history it is likely to have changed, and that is worth a call. */
  | 'likely-changed'
  /** Its images must be confirmed before their hard limit (specification §1 rule 4). */
  | 'image-limit'
  /** It is off sale, and may be on sale again. */
  | 'reopening-look'
  /** Somebody is about to order (specification §1 rule 5). */
  | 'live-check'
  /** Picked by chance, to measure how much of the data shown is correct. */
  | 'audit'
  /** An order was made (specification §1 rule 5). */
  | 'order-recheck'
  /** A live check or an order, answered in another currency, has found that the offer has changed. */
  | 'other-currency'
  /** The service refused an order of something that is available according to the record. */
  | 'order-failed'
  /** Somebody requested it. */
  | 'requested'
  /** Its last read has an instant in the future: the clock was set back since. */
  | 'clock-set-back'
  /** Its last answer takes something away, or many such answers are held. It is read again before any is accepted. */
  | 'claimed'
  /** Answers took something away, and were accepted. It may be back soon. */
  | 'taken-away'
  /** Its last read failed. */
  | 'retry'
  /** It is missing from the list, and its own read decides. */
  | 'missing-from-list'
  /** Facts contradict each other, so the list is walked again. */
  | 'suspicion'
  | 'list-entry-changed'
  | 'sale-status-changed'
  | 'sale-status-doubted';

/** A kind of record, for any product. */
export interface KindKey {
  readonly resource: Resource;
  /** Language ('en') for texts, currency ('EUR') for availability, both ('en/EUR') for the product list. */
  readonly edition: string;
  /** Availability: window index, counted from the venue's today; else 0. */
  readonly part: number;
}

export interface RecordKey extends KindKey {
  /** 0 for a list. */
  readonly product_id: number;
}

/** Facts about a record's reads. Instants are null for never. */
export interface RecordFacts extends RecordKey {
  readonly due_at: number;
  readonly due_reason: DueReason;
  readonly fetched_at: number | null;
  readonly changed_at: number | null;
  readonly body_hash: string | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly job_id: number | null;
  /** Instant of the newest notification; null once a read sent after it has answered. */
  readonly notified_at: number | null;
  /** Estimate of its rate of change from its reads (volatility.ts); null before the second read. */
  readonly shape: number | null;
  readonly exposure: number | null;
  /** Instant at which a failed order showed that it has changed since its last read; null if none did. */
  readonly told_at: number | null;
  /**
   * Availability: instant since which its answers are "not on sale" under the product's present sale status. Null: the
   * last one was about days.
   */
  readonly off_sale_at: number | null;
  /**
   * Availability: instant since which the service leaves out some of its dates, or answers for others. A list: instant
   * since which it leaves out rows that it counts. Null: the last answer was complete.
   */
  readonly unanswered_at: number | null;
}

/** Instant at which a record is due, and the reason. */
export interface Due {
  readonly at: Instant;
  readonly reason: DueReason;
}

/** Largest tolerated lead of a stored instant. One further in the future was written by a wrong clock. */
export const futureToleranceMs = 5 * 60 * 1000;

/**
 * Longest time from when an answer is made to when it is stored, in milliseconds: a cache keeps it for 15 minutes at
 * most, and a read takes one.
 */
export const longestReadMs = 16 * 60 * 1000;

/**
 * Returns whether an answer to a request sent at `sent_at` may replace the one stored at `stored_at`. A stored
 * instant that is later by more than a read takes was written before the clock was set back, and is not repaired yet.
 */
export function mayReplace(stored_at: number | null, sent_at: number): boolean {
  return stored_at === null || sent_at >= stored_at || stored_at - sent_at > longestReadMs;
}
