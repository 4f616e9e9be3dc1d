import type { SaleStatus } from '../catalogue/product.ts';
import { futureToleranceMs } from '../schedule/record.ts';
import { mostMissing, type RemovalLimits } from './absence.ts';

/*
 * A closure that a notification tells of (reliability.md 2.3): it takes a product off sale at once, and reads decide.
 */

/** What is stored of a closure that is in force. Instants are null where it has not happened. */
export interface ClosureFacts {
  /** When the newest delivery that says so was received. */
  readonly notified_at: number;
  readonly applied_at: number | null;
  readonly available_at: number | null;
  readonly confirmed_at: number | null;
}

export type ClosureVerdict =
  /** The read was sent before the notification came, or says neither. */
  | 'undecided'
  | 'confirmed'
  /** It says available: the service's reads are themselves cached, so it has to say so again. */
  | 'available-once'
  /** No read ever confirmed it, and two say available. */
  | 'undone'
  /** It was confirmed, and is over. */
  | 'reopened';

/** Two reads that say available count as two from this far apart. */
export const confirmApartMs = 60_000;
/** More unconfirmed closures than may be, within this time, wait for their reads. */
export const guardSpanMs = 10 * 60_000;

/** What an authenticated read, sent at `sent_at`, decides about a closure. */
export function judge(closure: ClosureFacts, is: SaleStatus, sent_at: number): ClosureVerdict {
  const notified_at = closure.notified_at > sent_at + futureToleranceMs ? 0 : closure.notified_at;
  if (sent_at <= notified_at || is === 'unknown') return 'undecided';
  if (is === 'disabled') return 'confirmed';
  if (closure.confirmed_at !== null) return 'reopened';
  if (closure.available_at === null || closure.available_at > sent_at) return 'available-once';
  return sent_at - closure.available_at >= confirmApartMs ? 'undone' : 'undecided';
}

/** When the read that decides is to be sent; null: it was confirmed, and nothing waits. */
export function confirmAt({ confirmed_at, available_at, notified_at }: ClosureFacts): number | null {
  if (confirmed_at !== null) return null;
  return available_at === null ? notified_at : available_at + confirmApartMs;
}

/** Whether one more closure may take effect before its read, where `unconfirmed` others did within `guardSpanMs` or still wait. */
export function mayApply(unconfirmed: number, visible: number, limits: RemovalLimits): boolean {
  return unconfirmed < mostMissing(visible, limits);
}

/** Of the last hundred hints, so many that no read confirmed are misuse of the secret. */
const misuse = { of: 100, undone: 50 };

/** Whether the closures that ended last look like somebody else's work. */
export function isMisuse(last: readonly { readonly confirmed_at: number | null }[]): boolean {
  return last.length >= misuse.of && last.filter(({ confirmed_at }) => confirmed_at === null).length > misuse.undone;
}
