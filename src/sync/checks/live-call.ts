import { setImmediate } from 'node:timers/promises';
import type { Clock, Deadline } from '../../clock.ts';
import type { SaleState, Unanswered } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { ReadDate } from '../../mirror/checks.ts';
import type { AnsweredSale, SaidNow } from '../reads/availability.ts';

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

/** One live read of a window, as those who wait for it share it. */
export interface SharedCall<Found> {
  /** Each date as the mirror showed it when the first caller asked for that date. */
  readonly shown: Map<string, ReadDate | null>;
  /** As of the start of the call. */
  readonly sale: SaleState;
  /** Conclusions from the answer, by question. */
  readonly found: Map<string, Found>;
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
export class LiveCall<Found> implements SharedCall<Found> {
  readonly key: RecordKey;
  readonly sale: SaleState;
  readonly shown = new Map<string, ReadDate | null>();
  readonly found = new Map<string, Found>();
  /**
   * Resolves when it may be sent: the previous call for the window was answered, or has taken long enough, and all who ask
   * at the same time have joined.
   */
  readonly turn: Promise<void>;
  /** Resolves when the read has ended, and its answer is stored. */
  readonly end: Promise<void>;
  readonly #clock: Clock;
  readonly #whyLate: () => Unanswered;
  readonly #waiters = new Set<Waiter>();
  readonly #stop = new AbortController();
  readonly #answered = Promise.withResolvers<void>();
  #isAnswered = false;
  #wasSent = false;
  /** Fires for the waiter with the least time left: one timer, however many wait. */
  #timer: (Deadline & { readonly at: number }) | null = null;
  /** By the monotonic clock; null: not sent. */
  #sent_at: number | null = null;

  constructor(
    { key, sale }: { readonly key: RecordKey; readonly sale: SaleState },
    { clock, whyLate }: { readonly clock: Clock; readonly whyLate: () => Unanswered },
    before: LiveCall<Found> | undefined,
    read: (call: LiveCall<Found>) => Promise<void>,
  ) {
    this.key = key;
    this.sale = sale;
    this.#clock = clock;
    this.#whyLate = whyLate;
    this.turn = this.#turnAfter(before);
    this.end = read(this);
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

  /** Called when the request's turn has come to be sent, and with `no` when it has failed and may be sent again. */
  sent(is: 'yes' | 'no'): void {
    this.#wasSent = true;
    this.#sent_at = is === 'yes' ? this.#clock.monotonic() : null;
  }

  /** Rejects with the signal's reason when it aborts, which ends this waiter only. */
  wait({ deadline_ms, signal }: WaitLimits): Promise<LiveResult> {
    const { promise, resolve, reject } = Promise.withResolvers<LiveResult>();
    const leave = () => {
      this.#waiters.delete(waiter);
      signal.removeEventListener('abort', gone);
      this.#left();
    };
    const gone = () => {
      leave();
      reject(signal.reason);
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
    this.#waiters.add(waiter);
    signal.addEventListener('abort', gone, { once: true });
    if (this.#timer === null || waiter.late_at < this.#timer.at) this.#watch(waiter.late_at);
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
    this.#timer?.[Symbol.dispose]();
    this.#stop.abort(new Error(reason));
  }

  #answerAll(one: (waiter: Waiter) => void): void {
    this.#isAnswered = true;
    for (const waiter of [...this.#waiters]) one(waiter);
    this.#answered.resolve();
  }

  /** Answers the waiters whose time is up at an instant, then sets the timer for the next one. */
  #watch(at: number): void {
    this.#timer?.[Symbol.dispose]();
    const late = this.#clock.deadline(Math.max(0, at - this.#clock.monotonic()));
    this.#timer = { ...late, at };
    const due = () => {
      this.#timer = null;
      if (this.#waiters.size === 0) return this.#abandon();
      const result = unanswered(this.#whyLate());
      for (const waiter of [...this.#waiters]) if (waiter.late_at <= at) waiter.settle(result);
      const next = Math.min(...this.#waiters.values().map(({ late_at }) => late_at));
      if (Number.isFinite(next)) this.#watch(next);
      return undefined;
    };
    late.signal.addEventListener('abort', due, { once: true });
  }

  /** Drops a call whose last waiter has left, or keeps it a little longer once it was sent. */
  #left(): void {
    if (this.#waiters.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    if (this.#isAnswered) return;
    if (this.#sent_at === null) this.#abandon();
    else this.#watch(this.#clock.monotonic() + abandonedMs);
  }

  #abandon(): void {
    this.stop('nobody waits for this read any more');
  }

  async #turnAfter(before: LiveCall<Found> | undefined): Promise<void> {
    if (before !== undefined) await before.#mayFollow(this.signal);
    await setImmediate();
    let [joined, turns] = [0, 0];
    do {
      joined = this.#waiters.size;
      turns += 1;
      await setImmediate();
    } while (this.#waiters.size > joined && turns < joiningTurns);
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
