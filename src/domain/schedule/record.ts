import type { Instant } from '../../clock.ts';
import type { Resource } from './resources.ts';

/*
 * A record is what one request fetches: a list (walked page by page), or one thing of one product.
 */

/** Why a record is due: the same word in logs, `explain` and tests. */
export type DueReason =
  /** Nothing is stored of it. */
  | 'never-fetched'
  /** A notification said that its product has changed (specification §6). */
  | 'notified'
  /** A notification closed its product, and no read has decided yet: goes first. */
  | 'closure-unconfirmed'
  /** Nothing could be received for longer than the service retries: covered products are read again. */
  | 'gap-healing'
  /** Its cadence has passed. */
  | 'cadence-elapsed'
  /** Before its cadence: by its history it is likely to have changed, and that is worth a call. */
  | 'likely-changed'
  /** Its images must be confirmed before their hard limit (specification §1 rule 4). */
  | 'image-limit'
  /** It is off sale, and may be back. */
  | 'reopening-look'
  /** Somebody is about to order (specification §1 rule 5). */
  | 'live-check'
  /** Picked by chance, to measure how much of what is shown is true. */
  | 'audit'
  /** An order was made (specification §1 rule 5). */
  | 'order-recheck'
  /** A live check or an order found that what is sold has changed, by an answer in another currency. */
  | 'other-currency'
  /** The service refused an order of what the record says is there. */
  | 'order-failed'
  /** Somebody asked for it. */
  | 'requested'
  /** It was read at an instant in the future: the clock was set back since. */
  | 'clock-set-back'
  /** Its last answer takes something away, or many such answers are held: it is asked again before any is believed. */
  | 'claimed'
  /** Answers took something away, and were believed: it may be back soon. */
  | 'taken-away'
  /** Its last read failed. */
  | 'retry'
  /** It is missing from the list, and its own read decides (reliability.md 3.1). */
  | 'missing-from-list'
  /** Facts contradict each other: the list is walked again. */
  | 'suspicion'
  | 'list-entry-changed'
  | 'sale-status-changed'
  | 'sale-status-doubted';

export interface RecordKey {
  readonly resource: Resource;
  /** 0 for a list. */
  readonly product_id: number;
  /** Language ('en') for texts, currency ('EUR') for availability, both ('en/EUR') for the product list. */
  readonly edition: string;
  /** Availability: the window, counted from the venue's today; else 0. */
  readonly part: number;
}

/** The facts of a record's reads. Instants are null: never. */
export interface RecordFacts extends RecordKey {
  readonly due_at: number;
  readonly due_reason: DueReason;
  readonly fetched_at: number | null;
  readonly changed_at: number | null;
  readonly body_hash: string | null;
  /** Failures in a row. */
  readonly failures: number;
  readonly job_id: number | null;
  /** The newest notification that no read sent after it has answered. */
  readonly notified_at: number | null;
  /** What its visits taught about its rate of change (volatility.ts); null before the second visit. */
  readonly shape: number | null;
  readonly exposure: number | null;
  /** When a failed order said that it has changed since its last read; null: none did. */
  readonly told_at: number | null;
  /** Availability: since when its answers say "not on sale" under the product's present sale status; null: the last one spoke of days. */
  readonly off_sale_at: number | null;
  /**
   * Availability: since when the service leaves out some of its dates, or answers for others. A list: since when it leaves
   * out rows that it counts. Null: the last answer spoke of all.
   */
  readonly unanswered_at: number | null;
}

/** When a record is due, and why. */
export interface Due {
  readonly at: Instant;
  readonly reason: DueReason;
}

/** A stored instant that lies more than this ahead of now counts as absent: a machine that lived in 2038 recovers. */
export const futureToleranceMs = 5 * 60 * 1000;

/** Tells whether an answer to a request sent at `sent_at` may replace what was read at `stored_at`. */
export function mayReplace(stored_at: number | null, sent_at: number, now: number): boolean {
  return stored_at === null || sent_at >= stored_at || stored_at > now + futureToleranceMs;
}
