import type { SaleState } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import { commitTogether } from '../reads/commit.ts';
import type { Ports, SyncPorts } from '../records/context.ts';
import { callWaiters, type WaitLimits } from './call-waiters.ts';
import { readLive } from './live-read.ts';
import { callPause, type LiveResult, unanswered } from './live-result.ts';
import { type PendingCall, pendingCalls, type SharedCall } from './pending-calls.ts';

/**
 * Live reads in the checkout lane: one call for all who ask for the same window of a product before it is sent. What each
 * concludes from the answer, as `Found`, those who ask the same share too.
 */
export interface SingleFlight<Found> extends AsyncDisposable {
  /**
   * Waits for a live read of the window that has not been sent yet: a call already in flight may answer with something
   * older than the question, so callers that arrive meanwhile share the next one. Never waits longer than `deadline_ms`.
   * Rejects with the signal's reason when it aborts, which ends this waiter only. A read without waiters is dropped
   * before it is sent; once sent, it gets a little longer, and its answer is stored like any other.
   */
  join(key: RecordKey, patience: WaitLimits): { call: SharedCall<Found>; result: Promise<LiveResult> };
  /** Does the same for a caller that needs only the result, and resolves when it is stored. */
  recheck(key: RecordKey, patience: WaitLimits): Promise<LiveResult>;
  /** Tells whether a read of the window has yet to be sent: sharing it costs no call. */
  waits(key: RecordKey): boolean;
  /** Resolves when every answer so far is stored. */
  stored(): Promise<void>;
}

export function createSingleFlight<Found>(
  { upstream, ...given }: Ports,
  limiter: Pick<Limiter, 'pause'>,
): SingleFlight<Found> {
  const { mirror, clock, log } = given;
  const { commit, flush, close } = commitTogether(given);
  const ports: SyncPorts = { ...given, upstream: upstream.in('checkout'), progressed: () => undefined, commit };
  const calls = pendingCalls<Found>(clock);
  const pause = callPause(limiter, clock);
  const { waitFor } = callWaiters(clock, calls, pause);
  let stopped = false;

  const saleOf = ({ product_id }: RecordKey): SaleState => mirror.checks.saleState(product_id) ?? 'withdrawn';
  const settle = (call: PendingCall<Found>, result: LiveResult) => calls.tell(call, (waiter) => waiter.settle(result));

  function join(key: RecordKey, patience: WaitLimits): ReturnType<SingleFlight<Found>['join']> {
    patience.signal.throwIfAborted();
    const known = calls.joinable(key);
    const paused = pause.now();
    if (stopped || (paused !== null && paused.until > clock.now() + patience.deadline_ms)) {
      const result = Promise.resolve(unanswered(stopped || paused === null ? 'stopping' : paused.reason));
      return { call: known ?? { shown: new Map(), sale: saleOf(key), found: new Map() }, result };
    }
    const call = known ?? start(key);
    return { call, result: waitFor(call, patience) };
  }

  function start(key: RecordKey): PendingCall<Found> {
    const call = calls.begin(key, saleOf(key));
    const reading = {
      ports,
      commit,
      pause,
      sends: () => calls.sends(call),
      settle: (result: LiveResult) => settle(call, result),
    };
    const failed = (error: unknown) => {
      if (!call.stop.signal.aborted) log.error({ ...key, err: error }, 'a live read threw');
      calls.tell(call, (waiter) => waiter.fail(error));
    };
    readLive(reading, call)
      .then(reading.settle, failed)
      .finally(() => calls.end(call));
    return call;
  }

  async function stored(): Promise<void> {
    flush();
    await calls.stored();
  }

  return {
    join,
    waits: (key) => calls.joinable(key) !== undefined,
    recheck: async (key, patience) => {
      const result = await join(key, patience).result;
      await stored();
      return result;
    },
    stored,
    [Symbol.asyncDispose]: async () => {
      stopped = true;
      for (const call of calls.all()) {
        settle(call, unanswered('stopping'));
        // A timer that is left would keep a stopped command alive.
        call.timer?.[Symbol.dispose]();
        call.stop.abort(new Error('the checks are closed'));
      }
      close();
      await stored();
    },
  };
}
