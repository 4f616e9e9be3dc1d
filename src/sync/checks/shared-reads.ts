import type { SaleState, Unanswered } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import { commitTogether } from '../reads/commit.ts';
import type { Ports, SyncPorts } from '../records/context.ts';
import { LiveCall, type SharedCall, type WaitLimits } from './live-call.ts';
import { readLive } from './live-read.ts';
import { type CallPause, callPause, type LiveResult, unanswered } from './live-result.ts';

/**
 * Live reads in the checkout lane: one call for all callers that ask for the same window of a product before it is
 * sent. A call in flight is not joined, because its answer may be older than the question. Callers also share `Found`,
 * their conclusions from the answer. Disposing answers all waiters, and stores the answers received so far.
 */
export class SharedReads<Found> implements AsyncDisposable {
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

  constructor({ upstream, ...given }: Ports, limiter: Limiter) {
    this.#together = commitTogether(given);
    const { commit } = this.#together;
    this.#ports = { ...given, upstream: upstream.in('checkout'), progressed: () => undefined, commit };
    this.#pause = callPause(limiter, given.clock);
  }

  /** Returns whether a read of the window waits to be sent. */
  waits(key: RecordKey): boolean {
    return this.#joinable.has(idOf(key));
  }

  /** Returns whether `join` begins a call: no read waits to be sent, and one may be sent in time. */
  beginsCall(key: RecordKey, deadline_ms: number): boolean {
    return !this.waits(key) && this.#whyNone(deadline_ms) === null;
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
    const none = this.#whyNone(patience.deadline_ms);
    if (none !== null) {
      const result = Promise.resolve(unanswered(none));
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
      this.#answerWaiters(call, () => call.settle(unanswered('stopping')));
      call.stop('the checks are closed');
    }
    this.#together.close();
    await this.stored();
  }

  /** Returns the reason why no call can answer in time; null: one may. */
  #whyNone(deadline_ms: number): Unanswered | null {
    if (this.#stopped) return 'stopping';
    const paused = this.#pause.now();
    return paused !== null && paused.until > this.#ports.clock.now() + deadline_ms ? paused.reason : null;
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
    const settle = (result: LiveResult) => this.#answerWaiters(call, () => call.settle(result));
    const reading = {
      ports: this.#ports,
      commit: this.#together.commit,
      pause: this.#pause,
      begins: () => {
        call.sent('yes');
        if (this.#joinable.get(id) === call) this.#joinable.delete(id);
        this.#sent.set(id, call);
      },
      settle,
    };
    const failed = (error: unknown) => {
      if (!call.signal.aborted) log.error({ ...key, err: error }, 'a live read threw');
      this.#answerWaiters(call, () => call.fail(error));
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
  #answerWaiters(call: LiveCall<Found>, tell: () => void): void {
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
