import type { SaleState, Unanswered } from '../../domain/checks/check.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import { CommitTogether } from '../reads/commit.ts';
import { ReadLane, type Sync } from '../records/context.ts';
import { LiveCall, type LiveResult, type SharedCall, unanswered, type WaitLimits } from './live-call.ts';
import { readLive } from './live-read.ts';

/**
 * Live reads in the checkout lane: one call for all callers that ask for the same window of a product before it is
 * sent. A call in flight is not joined, because its answer may be older than the question. Callers also share `Found`,
 * their conclusions from the answer. Disposing answers all waiters, and stores the answers received so far.
 */
export class SharedReads<Found> implements AsyncDisposable {
  readonly #sync: Sync;
  readonly #lane: ReadLane;
  readonly #limiter: Limiter;
  readonly #together: CommitTogether;
  /** The unfinished calls of each window, in the order in which they began. */
  readonly #calls = new Map<string, Set<LiveCall<Found>>>();
  #stopped = false;

  constructor(sync: Sync, limiter: Limiter) {
    this.#sync = sync;
    this.#together = new CommitTogether(sync);
    this.#lane = new ReadLane(sync, 'checkout', this.#together.commit);
    this.#limiter = limiter;
  }

  /** Returns whether a read of the window waits to be sent. */
  waits(key: RecordKey): boolean {
    return this.#joinable(key) !== undefined;
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
    const known = this.#joinable(key);
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
    await Promise.all(this.#all().map(({ isAnswered, end }) => (isAnswered ? end : null)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const call of this.#all()) {
      call.settle(unanswered('stopping'));
      call.stop('the checks are closed');
    }
    this.#together.close();
    await this.stored();
  }

  /** Returns the reason why no call can answer in time; null: one may. */
  #whyNone(deadline_ms: number): Unanswered | null {
    if (this.#stopped) return 'stopping';
    const { not_before } = this.#limiter.pause();
    const isPaused = not_before > this.#sync.clock.now() + Math.max(0, deadline_ms);
    return isPaused && !this.#limiter.mayCheckTry() ? this.#whyPaused() : null;
  }

  /** Returns the reason why an answer has not come in time. */
  #whyLate(): Unanswered {
    const { not_before, unreachable_since } = this.#limiter.pause();
    return unreachable_since === null && not_before <= this.#sync.clock.now() ? 'deadline' : this.#whyPaused();
  }

  #whyPaused(): Unanswered {
    return this.#limiter.pause().unreachable_since === null ? 'throttled' : 'service-unreachable';
  }

  #start(key: RecordKey): LiveCall<Found> {
    const id = idOf(key);
    const calls = this.#calls.getOrInsertComputed(id, () => new Set());
    const call = new LiveCall<Found>(
      { key, sale: this.#saleOf(key) },
      { clock: this.#sync.clock, whyLate: () => this.#whyLate() },
      [...calls].findLast(({ isInFlight }) => isInFlight),
      async (begun) => {
        try {
          begun.settle(await readLive(this.#lane, this.#limiter, begun));
        } catch (error) {
          if (!begun.signal.aborted) this.#sync.log.error({ ...key, err: error }, 'a live read threw');
          begun.fail(error);
        } finally {
          calls.delete(begun);
          if (calls.size === 0) this.#calls.delete(id);
        }
      },
    );
    calls.add(call);
    return call;
  }

  /** Returns the call that a caller may join: the last one, as long as it was not sent. */
  #joinable(key: RecordKey): LiveCall<Found> | undefined {
    return this.#calls
      .get(idOf(key))
      ?.values()
      .find(({ isJoinable }) => isJoinable);
  }

  #all(): LiveCall<Found>[] {
    return [...this.#calls.values()].flatMap((calls) => [...calls]);
  }

  #saleOf({ product_id }: RecordKey): SaleState {
    return this.#sync.mirror.checks.saleState(product_id) ?? 'withdrawn';
  }
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}
