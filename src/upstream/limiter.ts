import type { Chance, Clock } from '../clock.ts';
import { afterAnswer, afterMiss, afterThrottle, type Budget, pauseLeft, startBudget } from '../domain/budget.ts';
import type { Outcome } from './outcome.ts';

export interface LimiterOptions {
  readonly budget: { readonly requests_per_second: number; readonly concurrency: number };
  readonly clock: Clock;
  readonly chance: Chance;
  /** Statuses that mean throttling when they come in bursts, and a record's own failure when single (service-facts.md §9). */
  readonly burst_statuses: readonly number[];
}

export interface LimiterState {
  readonly rate: number;
  readonly ceiling: number;
  readonly in_flight: number;
  readonly waiting: number;
  readonly not_before: number;
  readonly unreachable_since: number | null;
  readonly calls: number;
  readonly throttled_count: number;
}

/** The one limiter for every call: rate, concurrency, and what the service asked for. */
export interface Limiter extends Disposable {
  /** Waits for its turn, first come first served, and learns from the outcome. Rejects with an aborted signal's reason. */
  run(call: (signal: AbortSignal) => Promise<Outcome>, signal: AbortSignal): Promise<Outcome>;
  state(): LimiterState;
}

interface Waiter {
  readonly start: () => void;
  readonly signal: AbortSignal;
}

/** Of the last five calls, so many of a burst status are back-pressure. */
const burst = { of: 5, calls: 3 };

export function createLimiter({ budget: configured, clock, chance, burst_statuses }: LimiterOptions): Limiter {
  const { requests_per_second, concurrency } = configured;
  let budget: Budget = startBudget(requests_per_second, clock.now());
  let next_at = Number.NEGATIVE_INFINITY;
  let in_flight = 0;
  let calls = 0;
  let throttled_count = 0;
  let answered = false;
  let timer: AbortController | null = null;
  const recent: boolean[] = [];
  const queue: Waiter[] = [];
  const closing = new AbortController();

  /** Starts whoever may start now; the first who may not is woken when the time has come. */
  function pump(): void {
    while (queue.length > 0 && in_flight < concurrency && timer === null) {
      if (queue[0]?.signal.aborted) {
        queue.shift();
        continue;
      }
      const wait = Math.max(next_at - clock.monotonic(), pauseLeft(budget, clock.now()));
      if (wait > 0) return wakeIn(wait);
      const interval = 1000 / budget.rate;
      // Calls that were not made are not saved up, but for a tenth of a second: timers are not exact.
      next_at = Math.max(next_at, clock.monotonic() - 100) + interval;
      in_flight += 1;
      queue.shift()?.start();
    }
  }

  function wakeIn(ms: number): void {
    const own = new AbortController();
    timer = own;
    clock.sleep(Math.ceil(ms), AbortSignal.any([own.signal, closing.signal])).then(
      () => {
        timer = null;
        pump();
      },
      () => undefined,
    );
  }

  function turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    const start = () => {
      signal.removeEventListener('abort', abort);
      resolve();
    };
    queue.push({ start, signal });
    pump();
    return promise;
  }

  function learn(outcome: Outcome): Outcome {
    const now = clock.now();
    const judged = judgeBurst(outcome);
    if (judged.kind === 'throttled') {
      throttled_count += 1;
      budget = afterThrottle(budget, judged.until, chance(), now);
    } else if (judged.kind === 'unreachable') {
      budget = afterMiss(budget, chance(), now);
    } else {
      answered ||= judged.kind === 'answer';
      budget = afterAnswer(budget, now);
    }
    return judged;
  }

  /** A single 403 is the record's; several among the last calls are back-pressure; nothing but 403 is the key. */
  function judgeBurst(outcome: Outcome): Outcome {
    const hit = outcome.kind === 'refused' && burst_statuses.includes(outcome.status);
    recent.push(hit);
    if (recent.length > burst.of) recent.shift();
    if (!hit || recent.filter(Boolean).length < burst.calls) return outcome;
    if (answered) return { kind: 'throttled', status: outcome.status, until: null };
    return { ...outcome, status: 401, message: `every call is refused with ${outcome.status}: ${outcome.message}` };
  }

  return {
    run: async (call, signal) => {
      signal.throwIfAborted();
      await turn(signal);
      calls += 1;
      try {
        return learn(await call(signal));
      } finally {
        in_flight -= 1;
        pump();
      }
    },
    state: () => ({
      rate: budget.rate,
      ceiling: budget.ceiling,
      in_flight,
      waiting: queue.length,
      not_before: budget.not_before,
      unreachable_since: budget.unreachable_since,
      calls,
      throttled_count,
    }),
    [Symbol.dispose]: () => closing.abort(new Error('the limiter is closed')),
  };
}
