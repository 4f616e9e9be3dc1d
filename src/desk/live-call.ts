import { setImmediate } from 'node:timers/promises';
import type { AnsweredSale, SaidNow } from '../dates/availability.ask.ts';
import type { Clock, Deadline, Instant } from '../kernel/clock.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import type { Limiter } from '../service/limiter.ts';
import type { Unanswered } from './verdict.rules.ts';

/** An answer to a live read. */
export interface LiveAnswer extends AnsweredSale {
  readonly kind: 'answered';
  /** The answer itself, if the mirror cannot be written and does not have it yet. */
  readonly said?: SaidNow;
}

/** The result of a live read, as each waiter receives it. */
export type LiveResult =
  | LiveAnswer
  /**
   * The service no longer has the product: `withdrawn` if that is certain, `not-found` if it answers 404 for its dates
   * and for the product itself.
   */
  | { readonly kind: 'gone'; readonly reason: 'withdrawn' | 'not-found' }
  | { readonly kind: 'unanswered'; readonly reason: Unanswered };

export function unanswered(reason: Unanswered): LiveResult {
  return { kind: 'unanswered', reason };
}

/** Limits of the time that a caller waits for a call. The signal ends its own waiting only. */
export interface WaitLimits {
  readonly deadline_ms: number;
  readonly signal: AbortSignal;
}

/** A caller that waits for a call. */
interface Waiter {
  /** The instant until which it waits, by the monotonic clock. */
  readonly late_at: number;
  settle(result: LiveResult): void;
  fail(error: unknown): void;
}

/** Calls for one window take turns, but none waits longer than this for the previous one: a service may hang. */
const turnMs = 1000;
/** Turns of the event loop that a call waits for, as long as each brings more callers: without a pause. */
const joiningTurns = 3;
/** Time for which a call without waiters keeps its place in the budget. */
const abandonedMs = 5000;

/** One live read of a window, and its waiters. None waits longer than its deadline. */
export class LiveCall {
  readonly key: RecordKey;
  readonly #clock: Clock;
  readonly #limiter: Limiter;
  readonly #waiters = new Set<Waiter>();
  readonly #stop = new AbortController();
  readonly #answered = Promise.withResolvers<void>();
  /** Gives the call up that nobody waits for any more; null: somebody does, or it was not sent. */
  #abandoned: Deadline | null = null;
  #isAnswered = false;
  #wasSent = false;
  /** By the monotonic clock; null: not sent. */
  #sent_at: number | null = null;

  constructor(key: RecordKey, clock: Clock, limiter: Limiter) {
    this.key = key;
    this.#clock = clock;
    this.#limiter = limiter;
  }

  /** Aborts when the call is given up. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** True: more callers may join. Once sent, its answer may be older than their questions. */
  get isJoinable(): boolean {
    return !this.#wasSent && !this.#isAnswered && !this.signal.aborted;
  }

  /** True: the service has it, and those who come now wait for their turn after it. */
  get isInFlight(): boolean {
    return this.#wasSent && !this.#isAnswered && !this.signal.aborted;
  }

  /** True: the waiters have their result; the answer may still be being stored. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * Resolves when it may be sent: the previous call for the window was answered, or has taken long enough, and all who ask
   * at the same time have joined.
   */
  async turn(before: LiveCall | undefined): Promise<void> {
    if (before !== undefined) await before.#mayFollow(this.signal);
    await setImmediate();
    let [joined, turns] = [0, 0];
    do {
      joined = this.#waiters.size;
      turns += 1;
      await setImmediate();
    } while (this.#waiters.size > joined && turns < joiningTurns);
  }

  /** Called when the request's turn has come to be sent, and with `no` when it has failed and may be sent again. */
  sent(is: 'yes' | 'no'): void {
    this.#wasSent = true;
    this.#sent_at = is === 'yes' ? this.#clock.monotonic() : null;
  }

  /** Rejects with the signal's reason when it aborts, which ends this waiter only. */
  wait({ deadline_ms, signal }: WaitLimits): Promise<LiveResult> {
    const { promise, resolve, reject } = Promise.withResolvers<LiveResult>();
    const late = this.#clock.deadline(deadline_ms, signal);
    const leave = () => {
      late[Symbol.dispose]();
      this.#waiters.delete(waiter);
      this.#left();
    };
    const waiter: Waiter = {
      late_at: this.#clock.monotonic() + deadline_ms,
      settle: (result) => {
        leave();
        resolve(result);
      },
      fail: (error) => {
        leave();
        reject(error);
      },
    };
    const end = () => {
      if (signal.aborted) waiter.fail(signal.reason);
      else waiter.settle(unanswered(whyLate(this.#limiter, this.#clock.now())));
    };
    this.#waiters.add(waiter);
    late.signal.addEventListener('abort', end, { once: true });
    return promise;
  }

  /** Answers the waiters that do not wait longer than so many milliseconds from now. */
  answerWithin(ms: number, result: LiveResult): void {
    const until = this.#clock.monotonic() + ms;
    for (const waiter of [...this.#waiters]) if (waiter.late_at <= until) waiter.settle(result);
  }

  /** Answers all waiters; what the call brought may still have to be stored. */
  settle(result: LiveResult): void {
    this.#answerAll((waiter) => waiter.settle(result));
  }

  fail(error: unknown): void {
    this.#answerAll((waiter) => waiter.fail(error));
  }

  /** Gives the call up: drops its timer, which would keep a stopped command alive, and aborts its read. */
  stop(reason: string): void {
    this.#abandoned?.[Symbol.dispose]();
    this.#stop.abort(new Error(reason));
  }

  #answerAll(one: (waiter: Waiter) => void): void {
    this.#isAnswered = true;
    this.#abandoned?.[Symbol.dispose]();
    for (const waiter of [...this.#waiters]) one(waiter);
    this.#answered.resolve();
  }

  /** Drops a call whose last waiter has left, or keeps it a little longer once it was sent. */
  #left(): void {
    if (this.#waiters.size > 0 || this.#isAnswered) return;
    const abandon = () => this.stop('nobody waits for this read any more');
    if (this.#sent_at === null) abandon();
    else {
      this.#abandoned = this.#clock.deadline(abandonedMs);
      this.#abandoned.signal.addEventListener('abort', abandon, { once: true });
    }
  }

  /** Resolves when the call was answered, has taken long enough, or the signal aborts. */
  async #mayFollow(signal: AbortSignal): Promise<void> {
    if (this.#sent_at === null) return;
    const left = this.#sent_at + turnMs - this.#clock.monotonic();
    if (left <= 0) return;
    using over = this.#clock.deadline(left, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([this.#answered.promise, promise]);
  }
}

/** Returns the reason why no call can answer before a pause ends. */
export function whyPaused(limiter: Limiter): Unanswered {
  return limiter.pause().unreachable_since === null ? 'throttled' : 'service-unreachable';
}

/** Returns the reason why an answer has not come in time. */
function whyLate(limiter: Limiter, now: Instant): Unanswered {
  const { not_before, unreachable_since } = limiter.pause();
  return unreachable_since === null && not_before <= now ? 'deadline' : whyPaused(limiter);
}
