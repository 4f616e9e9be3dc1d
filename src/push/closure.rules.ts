import type { SaleStatus } from '../catalogue/product.rules.ts';
import { mostMissing } from '../trust/claims.rules.ts';
import { newsSettledMs, rereadAfterNews } from './news.rules.ts';

/*
 * Decides about announced closures: they take a product off sale at once, and reads confirm or
 * undo them.
 */

/** Stored facts about a closure in force. Instants are null for events that have not happened. */
export interface ClosureFacts {
  /** Instant at which the newest delivery about it was received. */
  readonly notified_at: number;
  readonly applied_at: number | null;
  readonly available_at: number | null;
  readonly confirmed_at: number | null;
}

export type ClosureVerdict =
  /** The answer was made before the notification arrived or soon after it, or shows neither state. */
  | 'undecided'
  | 'confirmed'
  /** The read shows the product as available. The service's reads are cached, so later ones must show it too. */
  | 'available-once'
  /** No read confirmed it, and two show the product as available, the second one when the announcement is settled. */
  | 'undone'
  /** It was confirmed, and a later answer says that it is over. */
  | 'reopened';

/** Time between two reads that show a product as available from which they count as two. */
export const confirmApartMs = 60_000;
/** Time within which too many unconfirmed closures make further ones wait for their reads. */
export const guardSpanMs = 10 * 60_000;

/**
 * Returns what an authenticated answer, made at `sent_at`, decides about a closure. `available_at` before the
 * notification: the notification announced both states, so the first answer decides.
 */
export function judge(closure: ClosureFacts, is: SaleStatus, sent_at: number): ClosureVerdict {
  if (sent_at <= closure.notified_at || is === 'unknown') return 'undecided';
  if (is === 'disabled') return 'confirmed';
  if (closure.confirmed_at !== null) return sent_at > closure.confirmed_at ? 'reopened' : 'undecided';
  if (closure.available_at === null || closure.available_at > sent_at) return 'available-once';
  const isSettled = closure.available_at < closure.notified_at || sent_at - closure.notified_at >= newsSettledMs;
  return isSettled && sent_at - closure.available_at >= confirmApartMs ? 'undone' : 'undecided';
}

/**
 * Returns when to send the next deciding read, after an answer made at `sent_at`; null if the closure was confirmed. A
 * cache that has kept its answer since before the notification is asked less often.
 */
export function confirmAt(
  { confirmed_at, notified_at }: ClosureFacts,
  { sent_at, now }: { readonly sent_at: number; readonly now: number },
): number | null {
  if (confirmed_at !== null) return null;
  return rereadAfterNews(notified_at, now) ?? now + (sent_at > notified_at ? confirmApartMs : agedApartMs);
}

/** Milliseconds between two reads where a cache has an answer from before the notification. */
const agedApartMs = 5 * 60_000;

/**
 * Returns whether one more closure may take effect before its read, if `unconfirmed` others did within `guardSpanMs` or
 * still wait.
 */
export function mayApply(unconfirmed: number, visible: number): boolean {
  return unconfirmed < mostMissing(visible);
}

/** More than `undone` unconfirmed closures among the last `of` mean that the secret is misused. */
const misuse = { of: 100, undone: 50 };

/** Returns whether the last closures look like misuse of the callback address. */
export function isMisuse(last: readonly { readonly confirmed_at: number | null }[]): boolean {
  return last.length >= misuse.of && last.filter(({ confirmed_at }) => confirmed_at === null).length > misuse.undone;
}
