import { type Tier, tierOfDay } from '../dates/availability.rules.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import { minutesPassed } from '../kernel/time/venue-clock.ts';
import { CommitTogether } from '../schedule/commit-together.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import { ReadLane, type Sync } from '../schedule/sync.ts';
import { windowOfDate } from '../schedule/window-of-date.rules.ts';
import type { Limiter } from '../service/limiter.ts';
import { Callers } from './callers.ts';
import {
  type AskedDate,
  type CheckAnswer,
  type CheckFindings,
  compare,
  goneBy,
  unansweredCheck,
  withoutCall,
} from './check-answer.ts';
import { type CheckQuestion, deadline, wantedOf } from './check-question.rules.ts';
import { CheckCounter } from './counts.ts';
import { LiveCall, type LiveResult, unanswered, type WaitLimits, whyPaused } from './live-call.ts';
import { readLive } from './live-read.ask.ts';
import { isTimePast, type Unanswered } from './verdict.rules.ts';
import { ViewCounter } from './views.ts';

/** A question to the service. */
interface Question extends AskedDate {
  readonly key: RecordKey;
  readonly tier: Tier;
}

/** A question that callers who ask the same share, with the call that they wait for and what follows from its answer. */
interface SharedQuestion extends Question {
  /** By the monotonic clock, milliseconds. */
  readonly shared_at: number;
  readonly call: LiveCall;
  /** Null: the call was not answered yet. */
  findings: CheckFindings | null;
}

/**
 * Milliseconds for which a question is shared, at most until its first caller is answered. The service may take half a
 * minute to answer. In that time midnight may pass at the venue, or the product may be withdrawn.
 */
const sharedMs = 100;

/**
 * The live checks of a process, in the checkout lane: one call for all callers that ask for the same window of a product
 * before it is sent. A call in flight is not joined, because its answer may be older than the question. Disposing answers
 * all who wait, stores the answers received so far, and writes the counts.
 */
export class CheckDesk implements AsyncDisposable {
  readonly sync: Sync;
  readonly counter: CheckCounter;
  readonly views: ViewCounter;
  /** Questions that more callers may share, by their text. */
  readonly shared = new Map<string, SharedQuestion>();
  /** The unfinished calls of each window, in the order in which they began, and the end of each: its answer is stored. */
  readonly #calls = new Map<string, Map<LiveCall, Promise<void>>>();
  readonly #callers: Callers;
  readonly #limiter: Limiter;
  readonly #together: CommitTogether;
  readonly #lane: ReadLane;
  #stopped = false;

  constructor({ sync, limiter }: { readonly sync: Sync; readonly limiter: Limiter }) {
    this.sync = sync;
    this.counter = new CheckCounter(sync);
    this.views = new ViewCounter(sync);
    this.#callers = new Callers(sync.clock);
    this.#limiter = limiter;
    this.#together = new CommitTogether(sync);
    this.#lane = new ReadLane(sync, 'checkout', this.#together.commit);
  }

  /**
   * Checks live before an order (specification §1 rule 5): compares the service's answer with the mirror's copy, and
   * stores the answer. Answers within the question's deadline, with `unknown` if the service has not answered. Throws
   * `unknown-product`, `currency-not-mirrored` or `unknown-variant` for questions that cannot be asked.
   */
  async check(question: CheckQuestion, signal: AbortSignal): Promise<CheckAnswer> {
    const { deadline_ms = deadline.usual, caller = null, ...same } = question;
    const id = JSON.stringify(same);
    const known = this.#sharedBy(id);
    const asked = known ?? prepare(this.sync, question);
    if ('verdict' in asked) return asked;
    signal.throwIfAborted();
    const none = this.#whyNone(deadline_ms);
    const begins = none === null && !this.waits(asked.key);
    if (begins && caller !== null && this.#callers.take(caller) === 'spent')
      return this.#unanswered(asked, 'caller-limit');
    this.views.add(asked.key, 1);
    if (none !== null) return this.#unanswered(asked, none);
    const own = known ?? this.#share(id, asked);
    try {
      return this.#conclude(own, await own.call.wait({ deadline_ms, signal }));
    } finally {
      if (this.shared.get(id) === own) this.shared.delete(id);
    }
  }

  /**
   * Waits for a live read of the window that has not been sent yet, and until its answer is stored. Never waits longer
   * than `deadline_ms` for the answer. Rejects with the signal's reason when it aborts, which ends this waiter only. A read
   * without waiters is dropped before it is sent. Once sent, it is kept a little longer, and its answer is stored like any
   * other.
   */
  async recheck(key: RecordKey, limits: WaitLimits): Promise<LiveResult> {
    limits.signal.throwIfAborted();
    const none = this.#whyNone(limits.deadline_ms);
    const result = none === null ? await this.#callFor(key).wait(limits) : unanswered(none);
    await this.stored();
    return result;
  }

  /** Returns whether a read of the window waits to be sent. */
  waits(key: RecordKey): boolean {
    return this.#joinable(key) !== undefined;
  }

  /** Resolves when all answers received so far are stored. */
  async stored(): Promise<void> {
    this.#together.flush();
    await Promise.all(this.#all().map(([{ isAnswered }, end]) => (isAnswered ? end : null)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    for (const [call] of this.#all()) {
      call.settle(unanswered('stopping'));
      call.stop('the checks are closed');
    }
    this.#together.close();
    await this.stored();
    // Losing a second of counts, or a minute of views, must not keep the daemon from stopping.
    try {
      this.counter.flush();
      await this.views.flush();
    } catch (error) {
      if (writeTroubleOf(error) === null) throw error;
    }
  }

  /** Returns the question that a caller may share: asked a moment ago, of a call that was not sent. */
  #sharedBy(id: string): SharedQuestion | undefined {
    const known = this.shared.get(id);
    const isFresh = known?.call.isJoinable && this.sync.clock.monotonic() - known.shared_at < sharedMs;
    return isFresh ? known : undefined;
  }

  #share(id: string, asked: Question): SharedQuestion {
    const shared_at = this.sync.clock.monotonic();
    const shared = { ...asked, shared_at, call: this.#callFor(asked.key), findings: null };
    this.shared.set(id, shared);
    return shared;
  }

  /** Returns the answer, computed once for all callers that share the question. */
  #conclude(asked: SharedQuestion, result: LiveResult): CheckAnswer {
    if (result.kind === 'unanswered') return this.#unanswered(asked, result.reason);
    asked.findings ??=
      result.kind === 'gone' ? goneBy(this.sync, asked, result.reason) : compare(this.sync, asked, result);
    const { answer, rating } = asked.findings;
    if (rating !== null) this.counter.add(asked, rating);
    return answer;
  }

  /** Answers with the mirror's copy, without a verdict. */
  #unanswered(asked: Question, reason: Unanswered): CheckAnswer {
    this.counter.add(asked, 'unanswered');
    return unansweredCheck(this.sync, asked, reason);
  }

  /** Returns the reason why no call can answer in time; null: one may. */
  #whyNone(deadline_ms: number): Unanswered | null {
    if (this.#stopped) return 'stopping';
    const { not_before } = this.#limiter.pause();
    const isPaused = not_before > this.sync.clock.now() + Math.max(0, deadline_ms);
    return isPaused && !this.#limiter.mayCheckTry() ? whyPaused(this.#limiter) : null;
  }

  /** Returns the call for a window that is not sent yet; begins one if there is none. */
  #callFor(key: RecordKey): LiveCall {
    const known = this.#joinable(key);
    if (known !== undefined) return known;
    const call = new LiveCall(key, this.sync.clock, this.#limiter);
    const calls = this.#calls.getOrInsertComputed(idOf(key), () => new Map());
    const before = [...calls.keys()].findLast(({ isInFlight }) => isInFlight);
    calls.set(call, this.#read(call, before));
    return call;
  }

  async #read(call: LiveCall, before: LiveCall | undefined): Promise<void> {
    try {
      call.settle(await readLive(this.#lane, this.#limiter, call, before));
    } catch (error) {
      if (!call.signal.aborted) this.sync.log.error({ ...call.key, err: error }, 'a live read threw');
      call.fail(error);
    } finally {
      const id = idOf(call.key);
      const calls = this.#calls.get(id);
      calls?.delete(call);
      if (calls?.size === 0) this.#calls.delete(id);
    }
  }

  #joinable(key: RecordKey): LiveCall | undefined {
    return this.#calls
      .get(idOf(key))
      ?.keys()
      .find(({ isJoinable }) => isJoinable);
  }

  #all(): [LiveCall, Promise<void>][] {
    return [...this.#calls.values()].flatMap((calls) => [...calls]);
  }
}

function idOf({ product_id, edition, part }: RecordKey): string {
  return `${product_id} ${edition} ${part}`;
}

/** Looks up the product and date of a question; answers directly if no call is needed. */
function prepare(sync: Sync, question: CheckQuestion): Question | CheckAnswer {
  const { mirror, clock, policy } = sync;
  const { product_id, date, expect_price: price = null } = question;
  const product = mirror.catalogue.products.find(product_id);
  const sale = mirror.checks.saleState(product_id);
  if (product === null || sale === null) throw notMirrored(product_id);
  const currency = currencyOf(sync, question);
  refuseUnknownVariants(sync, question);
  const own = policy.of(product.category);
  const where = windowOfDate(own.extent.windows, { timezone: product.timezone, date, now: clock.now() });
  const asked: AskedDate = {
    product_id,
    date,
    currency,
    today: where.today,
    minutes_passed: minutesPassed(product.timezone, date, clock.now()),
    wanted: wantedOf(question),
    expected: price?.amount ?? null,
    sale,
    day: mirror.checks.date(product_id, currency, date),
  };
  if (sale === 'withdrawn') return withoutCall(sync, asked, 'withdrawn');
  if (where.kind === 'past') return withoutCall(sync, asked, 'date-past');
  if (isTimePast(asked.wanted.time, asked.minutes_passed)) return withoutCall(sync, asked, 'time-past');
  if (where.kind === 'beyond') return unansweredCheck(sync, asked, 'outside-horizon');
  const key: RecordKey = { resource: 'availability', product_id, edition: currency, part: where.part };
  if (mirror.schedule.records.find(key) === null) return unansweredCheck(sync, asked, 'outside-horizon');
  return { ...asked, key, tier: tierOfDay(own.cadence.availability, where.day) };
}

/** Returns the currency of a question. Throws if it is not mirrored, or differs from that of the expected price. */
function currencyOf({ policy }: Sync, { currency = null, expect_price = null }: CheckQuestion): string {
  const { currencies } = policy.extent;
  if (currency !== null && expect_price !== null && currency !== expect_price.currency)
    throw new CataloguedError(
      'currencies-differ',
      `the check is in ${currency.slice(0, 20)}, but the expected price in ${expect_price.currency.slice(0, 20)}`,
      { exitCode: exitCodes.usage, hint: 'give both in the same currency, or leave out currency' },
    );
  const wanted = currency ?? expect_price?.currency ?? currencies[0];
  if (currencies.includes(wanted)) return wanted;
  throw new CataloguedError('currency-not-mirrored', `${wanted.slice(0, 20)} is not mirrored`, {
    exitCode: exitCodes.usage,
    hint: `use one of service.currencies: ${currencies.join(', ')}`,
  });
}

/**
 * Throws if a requested variant is missing from the product's known variants. Before its variants were read, only the
 * service knows them, and nothing is refused.
 */
function refuseUnknownVariants({ mirror }: Sync, { product_id, variants = [] }: CheckQuestion): void {
  if (variants.length === 0) return;
  const known = mirror.checks.variantIds(product_id);
  const unknown = known.size === 0 ? undefined : variants.find(({ variant_id }) => !known.has(variant_id));
  if (unknown === undefined) return;
  throw new CataloguedError('unknown-variant', `product ${product_id} has no variant ${unknown.variant_id}`, {
    exitCode: exitCodes.usage,
    hint: 'use an id from the view availability_slots or variants',
  });
}

export function notMirrored(product_id: number): CataloguedError {
  return new CataloguedError('unknown-product', `product ${product_id} is not in the mirror`, {
    exitCode: exitCodes.usage,
    hint: 'check the id; for a new product, read the list again: catalogued resync --products',
  });
}
