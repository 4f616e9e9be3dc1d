import type { Clock } from '../../clock.ts';
import type { CheckReason, Unanswered } from '../../domain/checks/check.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import type { AvailabilityRead, SaidNow } from '../reads/availability.ts';

/** The sale status in an answer, and the dates that it left out (`AvailabilityRead`). */
type Said = Pick<Extract<AvailabilityRead, { kind: 'stored' }>, 'sale' | 'unanswered' | 'sent_at'>;

/** The result of a live read, as each waiter receives it. */
export type LiveResult =
  | ({
      readonly kind: 'answered';
      /** The answer itself, if the mirror cannot be written and does not have it yet. */
      readonly said?: SaidNow;
    } & Said)
  /**
   * The service no longer has the product: `withdrawn` if that is certain, `not-found` if it answers 404 for its dates
   * and for the product itself.
   */
  | { readonly kind: 'gone'; readonly reason: 'withdrawn' | 'not-found' }
  | { readonly kind: 'unanswered'; readonly reason: Unanswered };

export function unanswered(reason: Unanswered): LiveResult {
  return { kind: 'unanswered', reason };
}

/** Returns the reason why a read got no answer. */
export function reasonOf(read: Exclude<AvailabilityRead, { kind: 'stored' }>): Unanswered {
  switch (read.kind) {
    case 'throttled':
      return 'throttled';
    case 'unreachable':
      return 'service-unreachable';
    case 'refused':
      return read.status === 401 ? 'key-refused' : 'service-refused';
    case 'failed':
      return read.code === 'other-dates' ? 'other-dates' : 'service-failed';
    default:
      return 'service-failed' satisfies CheckReason;
  }
}

/** The limiter's pause, as seen by callers that wait for an answer. */
export interface CallPause {
  /** Returns the pause in which no call may be sent, and its reason; null: no pause. */
  now(): { readonly until: number; readonly reason: Unanswered } | null;
  /** Returns the reason why an answer has not come in time. */
  whyLate(): Unanswered;
}

export function callPause(limiter: Limiter, clock: Clock): CallPause {
  const now: CallPause['now'] = () => {
    const { not_before, unreachable_since } = limiter.pause();
    if (not_before <= clock.now()) return null;
    return { until: not_before, reason: unreachable_since === null ? 'throttled' : 'service-unreachable' };
  };
  return {
    now,
    whyLate: () => (limiter.pause().unreachable_since === null ? (now()?.reason ?? 'deadline') : 'service-unreachable'),
  };
}
