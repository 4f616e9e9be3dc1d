import { setImmediate } from 'node:timers/promises';
import type { Clock, Deadline } from '../../clock.ts';
import type { SaleState } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { ReadDate } from '../../mirror/checks.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import { commitTogether } from '../reads/commit.ts';
import type { Ports, SyncPorts } from '../records/context.ts';
import { readLive } from './live-read.ts';
import { type CallPause, callPause, type LiveResult, unanswered } from './live-result.ts';

/** Time for which a caller waits for a call. The signal ends only this caller's waiting. */
export interface WaitLimits {
  readonly deadline_ms: number;
  readonly signal: AbortSignal;
}

/** The part of a live read of one window that its waiters share. */
export interface SharedCall<Found> {
  /** Dates as the mirror showed them when the first waiter asked. */
  readonly shown: Map<string, ReadDate | null>;
  readonly sale: SaleState;
  /** Conclusions from the answer, by question. */
  readonly found: Map<string, Found>;
}

/** A caller that waits for a call. */
interface Waiter {
  /** Instant until which it waits: `until` by the wall clock, `late_at` by the monotonic one. */
  readonly until: number;
  readonly late_at: number;
  settle(result: LiveResult): void;
  fail(error: unknown): void;
}

/**
 * Calls for one window are sent one after another, but none waits for the previous one longer than this, in
 * milliseconds: the service may hang.
 */
const turnMs = 1000;
/**
 * The most turns of the event loop for which a call waits while each turn brings more callers. There is no other delay.
 */
const joiningTurns = 3;
/** Milliseconds for which a sent call without waiters keeps its place in the budget. */
const abandonedMs = 5000;

/** One live read of a window, and its waiters. No waiter waits beyond its deadline. */
export class LiveCall<Found> implements SharedCall<Found> {
  readonly key: RecordKey;
  readonly sale: SaleState;
  readonly shown = new Map<string, ReadDate | null>();
  readonly found = new Map<string, Found>();
  /**
   * Resolves when the call may be sent: the previous call for the window was answered or has taken long enough, and all
   * callers that ask at the same time have joined.
   */
  readonly turn: Promise<void>;
  readonly #clock: Pick<Clock, 'now' | 'monotonic' | 'deadline'>;
  readonly #pause: CallPause;
  /** Called when the last waiter left before the call was sent, or some time after it left a sent call. */
  readonly #abandoned: () => void;
  readonly #waiters = new Set<Waiter>();
  readonly #stop = new AbortController();
  readonly #told = Promise.withResolvers<void>();
  #isTold = false;
  /** Fires for the waiter with the least time left: one timer for any number of waiters. */
  #timer: (Deadline & { readonly at: number }) | null = null;
  /** Instant of sending, by the monotonic clock; null: not sent. */
  #sent_at: number | null = null;

  constructor(
    { key, sale }: { readonly key: RecordKey; readonly sale: SaleState },
    { clock, pause }: { readonly clock: Clock; readonly pause: CallPause },
    before: LiveCall<Found> | undefined,
    abandoned: () => void,
  ) {
    this.key = key;
    this.sale = sale;
    this.#clock = clock;
    this.#pause = pause;
    this.#abandoned = abandoned;
    this.turn = this.#turnAfter(before);
  }

  /** Aborts when the call is given up. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get isAwaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** Called with `yes` when the request is sent, and with `no` when it has failed and may be sent again. */
  sent(is: 'yes' | 'no'): void {
    this.#sent_at = is === 'yes' ? this.#clock.monotonic() : null;
  }

  /**
   * Resolves to the result for this waiter. Rejects with the signal's reason when it aborts, which ends this waiter
   * only.
   */
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
      until: this.#clock.now() + deadline_ms,
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

  /** Answers the waiters whose deadline is not after an instant of the wall clock. */
  answerUntil(until: number, result: LiveResult): void {
    for (const waiter of [...this.#waiters]) if (waiter.until <= until) waiter.settle(result);
  }

  /** Answers all waiters. The answer of the call may still have to be stored. */
  settle(result: LiveResult): void {
    this.#tell((waiter) => waiter.settle(result));
  }

  fail(error: unknown): void {
    this.#tell((waiter) => waiter.fail(error));
  }

  /** Gives the call up: clears its timer, which would keep a stopped command running, and aborts its read. */
  stop(reason: string): void {
    this.#timer?.[Symbol.dispose]();
    this.#stop.abort(new Error(reason));
  }

  #tell(one: (waiter: Waiter) => void): void {
    this.#isTold = true;
    for (const waiter of [...this.#waiters]) one(waiter);
    this.#told.resolve();
  }

  /** Answers the waiters whose time is up at an instant, then sets the timer for the next deadline. */
  #watch(at: number): void {
    this.#timer?.[Symbol.dispose]();
    const late = this.#clock.deadline(Math.max(0, at - this.#clock.monotonic()));
    this.#timer = { ...late, at };
    const due = () => {
      this.#timer = null;
      if (this.#waiters.size === 0) return this.#abandoned();
      const result = unanswered(this.#pause.whyLate());
      for (const waiter of [...this.#waiters]) if (waiter.late_at <= at) waiter.settle(result);
      const next = Math.min(...this.#waiters.values().map(({ late_at }) => late_at));
      if (Number.isFinite(next)) this.#watch(next);
      return undefined;
    };
    late.signal.addEventListener('abort', due, { once: true });
  }

  /** Drops a call whose last waiter has left. A call that was sent is kept a little longer. */
  #left(): void {
    if (this.#waiters.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = null;
    if (this.#isTold) return;
    if (this.#sent_at === null) this.#abandoned();
    else this.#watch(this.#clock.monotonic() + abandonedMs);
  }

  async #turnAfter(before: LiveCall<Found> | undefined): Promise<void> {
    if (before !== undefined) await before.#answered(this.signal);
    await setImmediate();
    let [joined, turns] = [0, 0];
    do {
      joined = this.#waiters.size;
      turns += 1;
      await setImmediate();
    } while (this.#waiters.size > joined && turns < joiningTurns);
  }

  /** Resolves when the call was answered or has taken long enough, or when the signal aborts. */
  async #answered(signal: AbortSignal): Promise<void> {
    if (this.#sent_at === null) return;
    const left = this.#sent_at + turnMs - this.#clock.monotonic();
    if (left <= 0) return;
    using over = this.#clock.deadline(left, signal);
    const { promise, resolve } = Promise.withResolvers<void>();
    over.signal.addEventListener('abort', () => resolve(), { once: true });
    await Promise.race([this.#told.promise, promise]);
  }
}

/**
 * Live reads in the checkout lane: one call for all callers that ask for the same window of a product before it is
 * sent. They also share `Found`, their conclusions from the answer. Disposing answers all waiters, and stores the
 * answers received so far.
 */
export class SingleFlight<Found> implements AsyncDisposable {
  readonly #ports: SyncPorts;
  readonly #pause: CallPause;
  readonly #together: ReturnType<typeof commitTogether>;
  /** Calls by window: those that more callers may join, and those in flight. */
  readonly #joinable = new Map<string, LiveCall<Found>>();
  readonly #sent = new Map<string, LiveCall<Found>>();
  /** Unfinished calls, and a promise of the end of each. */
  readonly #underWay = new Map<LiveCall<Found>, Promise<void>>();
  /** Calls whose waiters have their result, but whose answer is still being stored. */
  readonly #storing = new Set<LiveCall<Found>>();
  #stopped = false;

  constructor({ upstream, ...given }: Ports, limiter: Pick<Limiter, 'pause'>) {
    this.#together = commitTogether(given);
    const { commit } = this.#together;
    this.#ports = { ...given, upstream: upstream.in('checkout'), progressed: () => undefined, commit };
    this.#pause = callPause(limiter, given.clock);
  }

  /** Returns whether a read of the window waits to be sent, so that joining it costs no call. */
  waits(key: RecordKey): boolean {
    return this.#joinable.has(idOf(key));
  }

  /**
   * Waits for a live read of the window that has not been sent yet. A call already in flight may answer with data older
   * than the question, so callers that arrive meanwhile share the next call. Never waits longer than `deadline_ms`.
   * Rejects with the signal's reason when it aborts, which ends this waiter only. A read without waiters is dropped
   * before it is sent. Once sent, it is kept a little longer, and its answer is stored like any other.
   */
  join(
    key: RecordKey,
    patience: WaitLimits,
  ): { readonly call: SharedCall<Found>; readonly result: Promise<LiveResult> } {
    patience.signal.throwIfAborted();
    const known = this.#joinable.get(idOf(key));
    const paused = this.#pause.now();
    if (this.#stopped || (paused !== null && paused.until > this.#ports.clock.now() + patience.deadline_ms)) {
      const result = Promise.resolve(unanswered(this.#stopped || paused === null ? 'stopping' : paused.reason));
      return { call: known ?? { shown: new Map(), sale: this.#saleOf(key), found: new Map() }, result };
    }
    const call = known ?? this.#start(key);
    return { call, result: call.wait(patience) };
  }

  /** Joins a call for a caller that needs only the result, and resolves when the answer is stored. */
  async recheck(key: RecordKey, patience: WaitLimits): Promise<LiveResult> {
    const result = await this.join(key, patience).result;
    await this.stored();
    return result;
  }

  /** Resolves when all answers received so far are stored. */
  async stored(): Promise<void> {
    this.#together.flush();
    await Promise.all([...this.#storing].map((call) => this.#underWay.get(call)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const call of this.#underWay.keys()) {
      this.#told(call, () => call.settle(unanswered('stopping')));
      call.stop('the checks are closed');
    }
    this.#together.close();
    await this.stored();
  }

  #start(key: RecordKey): LiveCall<Found> {
    const id = idOf(key);
    const { log } = this.#ports;
    const call: LiveCall<Found> = new LiveCall(
      { key, sale: this.#saleOf(key) },
      { clock: this.#ports.clock, pause: this.#pause },
      this.#sent.get(id),
      () => {
        this.#forget(call);
        call.stop('nobody waits for this read any more');
      },
    );
    this.#joinable.set(id, call);
    const settle = (result: LiveResult) => this.#told(call, () => call.settle(result));
    const reading = {
      ports: this.#ports,
      commit: this.#together.commit,
      pause: this.#pause,
      sends: () => {
        call.sent('yes');
        if (this.#joinable.get(id) === call) this.#joinable.delete(id);
        this.#sent.set(id, call);
      },
      settle,
    };
    const failed = (error: unknown) => {
      if (!call.signal.aborted) log.error({ ...key, err: error }, 'a live read threw');
      this.#told(call, () => call.fail(error));
    };
    const end = readLive(reading, call)
      .then(settle, failed)
      .finally(() => {
        this.#storing.delete(call);
        this.#underWay.delete(call);
      });
    this.#underWay.set(call, end);
    return call;
  }

  /** Gives the waiters of a call their result. No caller can join it afterwards. */
  #told(call: LiveCall<Found>, tell: () => void): void {
    this.#forget(call);
    this.#storing.add(call);
    tell();
  }

  #forget(call: LiveCall<Found>): void {
    const id = idOf(call.key);
    for (const calls of [this.#joinable, this.#sent]) if (calls.get(id) === call) calls.delete(id);
  }

  #saleOf({ product_id }: RecordKey): SaleState {
    return this.#ports.mirror.checks.saleState(product_id) ?? 'withdrawn';
  }
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}
