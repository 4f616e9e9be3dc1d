import type { Clock } from '../../clock.ts';
import { type CallPause, type LiveResult, unanswered } from './live-result.ts';
import type { CallWaiter, PendingCall, PendingCalls } from './pending-calls.ts';

/** How long a caller waits for a call; the signal ends only its own waiting. */
export interface WaitLimits {
  readonly deadline_ms: number;
  readonly signal: AbortSignal;
}

/** How long a call without waiters keeps its place in the budget. */
const abandonedMs = 5000;

/** Lets callers wait for a call, none longer than its deadline; a call whose last waiter leaves is given up. */
export function callWaiters<Found>(
  clock: Pick<Clock, 'now' | 'monotonic' | 'deadline'>,
  calls: Pick<PendingCalls<Found>, 'abandon' | 'isTold'>,
  pause: CallPause,
): { waitFor(call: PendingCall<Found>, patience: WaitLimits): Promise<LiveResult> } {
  /** Answers the waiters whose time is up at that instant, then sets the timer for the next one. */
  function watch(call: PendingCall<Found>, at: number): void {
    call.timer?.[Symbol.dispose]();
    const late = clock.deadline(Math.max(0, at - clock.monotonic()));
    call.timer = { ...late, at };
    const due = () => {
      call.timer = null;
      if (call.waiters.size === 0) return calls.abandon(call);
      const reason = pause.whyLate();
      for (const waiter of [...call.waiters]) if (waiter.late_at <= at) waiter.settle(unanswered(reason));
      const next = call.waiters
        .values()
        .reduce((least, { late_at }) => Math.min(least, late_at), Number.POSITIVE_INFINITY);
      if (Number.isFinite(next)) watch(call, next);
      return undefined;
    };
    late.signal.addEventListener('abort', due, { once: true });
  }

  /** Called when a waiter leaves: a call without waiters is dropped, or kept a little longer once sent. */
  function giveUp(call: PendingCall<Found>): void {
    if (call.waiters.size > 0) return;
    call.timer?.[Symbol.dispose]();
    call.timer = null;
    if (calls.isTold(call)) return;
    if (call.sent_at === null) calls.abandon(call);
    else watch(call, clock.monotonic() + abandonedMs);
  }

  return {
    waitFor: (call, { deadline_ms, signal }) => {
      const { promise, resolve, reject } = Promise.withResolvers<LiveResult>();
      const leave = () => {
        call.waiters.delete(waiter);
        signal.removeEventListener('abort', gone);
        giveUp(call);
      };
      const gone = () => {
        leave();
        reject(signal.reason);
      };
      const waiter: CallWaiter = {
        until: clock.now() + deadline_ms,
        late_at: clock.monotonic() + deadline_ms,
        settle: (result) => {
          leave();
          resolve(result);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      call.waiters.add(waiter);
      signal.addEventListener('abort', gone, { once: true });
      if (call.timer === null || waiter.late_at < call.timer.at) watch(call, waiter.late_at);
      return promise;
    },
  };
}
