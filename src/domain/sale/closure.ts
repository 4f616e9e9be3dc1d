import type { SaleStatus } from '../catalogue/product.ts';
import { mostMissing } from '../evidence/claims.ts';
import { futureToleranceMs } from '../schedule/record.ts';

/*
 * Decides about announced closures (reliability.md 2.3): they take a product off sale at once, and reads confirm or
 * undo them.
 */

/** The stored facts of a closure in force. Instants are null for what has not happened. */
export interface ClosureFacts {
  /** When the newest delivery about it was received. */
  readonly notified_at: number;
  readonly applied_at: number | null;
  readonly available_at: number | null;
  readonly confirmed_at: number | null;
}

export type ClosureVerdict =
  /** The read was sent before the notification arrived, or says neither. */
  | 'undecided'
  | 'confirmed'
  /** It says available, but the service's reads are cached, so it must say so again. */
  | 'available-once'
  /** No read confirmed it, and two say available. */
  | 'undone'
  /** It was confirmed, and is over. */
  | 'reopened';

/** How far apart two reads that say available must be to count as two. */
export const confirmApartMs = 60_000;
/** The time in which too many unconfirmed closures make further ones wait for their reads. */
export const guardSpanMs = 10 * 60_000;

/** Returns what an authenticated read, sent at `sent_at`, decides about a closure. */
export function judge(closure: ClosureFacts, is: SaleStatus, sent_at: number): ClosureVerdict {
  const notified_at = closure.notified_at > sent_at + futureToleranceMs ? 0 : closure.notified_at;
  if (sent_at <= notified_at || is === 'unknown') return 'undecided';
  if (is === 'disabled') return 'confirmed';
  if (closure.confirmed_at !== null) return 'reopened';
  if (closure.available_at === null || closure.available_at > sent_at) return 'available-once';
  return sent_at - closure.available_at >= confirmApartMs ? 'undone' : 'undecided';
}

/** Returns when to send the deciding read; null: the closure was confirmed. */
export function confirmAt({ confirmed_at, available_at, notified_at }: ClosureFacts): number | null {
  if (confirmed_at !== null) return null;
  return available_at === null ? notified_at : available_at + confirmApartMs;
}

/**
 * Tells whether one more closure may take effect before its read, when `unconfirmed` others did within `guardSpanMs` or
 * still wait.
 */
export function mayApply(unconfirmed: number, visible: number): boolean {
  return unconfirmed < mostMissing(visible);
}

/** How many unconfirmed closures among the last hundred mean that the secret is misused. */
const misuse = { of: 100, undone: 50 };

/** Tells whether the last closures look like misuse of the callback address. */
export function isMisuse(last: readonly { readonly confirmed_at: number | null }[]): boolean {
  return last.length >= misuse.of && last.filter(({ confirmed_at }) => confirmed_at === null).length > misuse.undone;
}
