import { type Tier, tierOfDay } from '../../domain/catalogue/availability.ts';
import { isTimePast, type OfferStanding, standingOf } from '../../domain/checks/check.ts';
import { type CheckQuestion, deadline, wantedOf } from '../../domain/checks/check-question.ts';
import { rateCheck } from '../../domain/checks/error-rate.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { windowOfDate } from '../../domain/schedule/window-of-date.ts';
import { minutesPassed } from '../../domain/time/venue-clock.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import type { Sync } from '../records/context.ts';
import { type Callers, countCallers } from './callers.ts';
import {
  type AskedDate,
  type CheckAnswer,
  type CheckFindings,
  compare,
  unansweredCheck,
  withoutDates,
} from './check-answer.ts';
import { type CheckCounter, checkCounter } from './counts.ts';
import type { LiveResult, SharedCall } from './live-call.ts';
import { SharedReads } from './shared-reads.ts';
import { ViewCounter } from './views.ts';

/** A prepared question for the service. Callers who ask the same within `sharedMs`, while it is in progress, share it. */
interface Prepared extends AskedDate {
  readonly id: string;
  /** Instant of the preparation, by the monotonic clock, milliseconds. */
  readonly prepared_at: number;
  readonly key: RecordKey;
  readonly tier: Tier;
}

/**
 * Milliseconds for which a prepared question is reused, at most until its first caller is answered. The service may take
 * half a minute to answer. In that time midnight may pass at the venue, or the product may be withdrawn.
 */
const sharedMs = 100;

/** The live checks of a process. Disposing ends the waiting checks, and writes the counts. */
export class CheckDesk implements AsyncDisposable {
  readonly sync: Sync;
  readonly sharedReads: SharedReads<CheckFindings>;
  readonly counter: CheckCounter;
  readonly views: ViewCounter;
  readonly #callers: Callers;
  /** Questions in progress, by their text. */
  readonly prepared = new Map<string, Prepared>();

  constructor({ sync, limiter }: { readonly sync: Sync; readonly limiter: Limiter }) {
    this.sync = sync;
    this.sharedReads = new SharedReads(sync, limiter);
    this.counter = checkCounter(sync);
    this.views = new ViewCounter(sync);
    this.#callers = countCallers(sync.clock);
  }

  /**
   * Checks live before an order (specification §1 rule 5): compares the service's answer with the mirror's copy, and
   * stores the answer. Answers within the question's deadline, with `unknown` if the service has not answered. Throws
   * `unknown-product`, `currency-not-mirrored` or `unknown-variant` for questions that cannot be asked.
   */
  async check(question: CheckQuestion, signal: AbortSignal): Promise<CheckAnswer> {
    const { mirror, clock } = this.sync;
    const { deadline_ms = deadline.usual, caller = null, ...same } = question;
    const id = JSON.stringify(same);
    const known = this.prepared.get(id);
    const isFresh = known !== undefined && clock.monotonic() - known.prepared_at < sharedMs;
    const asked = isFresh ? known : prepare(this.sync, question, id);
    if ('verdict' in asked) return asked;
    const pays = caller !== null && this.sharedReads.beginsCall(asked.key, deadline_ms);
    if (pays && this.#callers.take(caller) === 'spent') return this.#overLimit(asked);
    this.prepared.set(id, asked);
    this.views.add(asked.key, 1);
    try {
      const { call, result } = this.sharedReads.join(asked.key, { deadline_ms, signal });
      const { product_id, date, currency } = asked;
      if (!call.shown.has(date)) call.shown.set(date, mirror.checks.date(product_id, currency, date));
      return this.#conclude(asked, call, await result);
    } finally {
      if (this.prepared.get(id) === asked) this.prepared.delete(id);
    }
  }

  /** Answers a caller that has used up its calls with the mirror's copy, without a call and without a verdict. */
  #overLimit(asked: Prepared): CheckAnswer {
    const { product_id, date, currency, tier } = asked;
    this.counter.add({ product_id, tier }, 'unanswered');
    const day = this.sync.mirror.checks.date(product_id, currency, date);
    const sale = this.sync.mirror.checks.saleState(product_id) ?? 'withdrawn';
    return unansweredCheck(this.sync, asked, { day, sale }, 'caller-limit');
  }

  /** Returns the answer, computed once for all callers that asked the same question of one read. */
  #conclude(asked: Prepared, call: SharedCall<CheckFindings>, result: LiveResult): CheckAnswer {
    const { product_id, date, id, tier } = asked;
    if (result.kind === 'unanswered') {
      this.counter.add({ product_id, tier }, 'unanswered');
      return unansweredCheck(this.sync, asked, { day: call.shown.get(date) ?? null, sale: call.sale }, result.reason);
    }
    if (result.kind === 'gone') {
      const shown = standingOf(asked.wanted, call.sale, call.shown.get(date) ?? null, asked.minutes_passed);
      const now: OfferStanding = { sellable: false, reasons: [result.reason], price: null, time: null };
      this.counter.add({ product_id, tier }, rateCheck(shown, now));
      return withoutDates(this.sync, asked, call.sale, result.reason, call.shown.get(date) ?? null);
    }
    const known = call.found.get(id);
    const found = known ?? compare(this.sync, asked, call, result);
    call.found.set(id, found);
    if (known === undefined && found.rating !== null && found.rating !== 'right' && found.rating !== 'unknown')
      this.sync.log.info({ product_id, date, mirror: found.rating }, 'a live check found the mirror outdated');
    if (found.rating !== null) this.counter.add({ product_id, tier }, found.rating);
    return found.answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sharedReads[Symbol.asyncDispose]();
    // Losing a second of counts, or a minute of views, must not keep the daemon from stopping.
    try {
      this.counter.flush();
      await this.views.flush();
    } catch (error) {
      if (writeTroubleOf(error) === null) throw error;
    }
  }
}

/** Looks up the product and date of a question; answers directly if no call is needed. */
function prepare(sync: Sync, question: CheckQuestion, id: string): Prepared | CheckAnswer {
  const { mirror, clock, policy } = sync;
  const { product_id, date, expect_price: price = null } = question;
  const product = mirror.catalogue.products.find(product_id);
  const sale = mirror.checks.saleState(product_id);
  if (product === null || sale === null) throw notMirrored(product_id);
  const currency = currencyOf(sync, question);
  refuseUnknownVariants(sync, question);
  const own = policy.of(product.category);
  const where = windowOfDate(own.extent.windows, { timezone: product.timezone, date, now: clock.now() });
  const asked = {
    product_id,
    date,
    currency,
    today: where.today,
    minutes_passed: minutesPassed(product.timezone, date, clock.now()),
    wanted: wantedOf(question),
    expected: price?.amount ?? null,
  };
  if (sale === 'withdrawn') return withoutDates(sync, asked, sale, 'withdrawn');
  if (where.kind === 'past') return withoutDates(sync, asked, sale, 'date-past');
  if (isTimePast(asked.wanted.time, asked.minutes_passed)) return withoutDates(sync, asked, sale, 'time-past');
  if (where.kind === 'beyond') return withoutDates(sync, asked, sale, 'outside-horizon');
  const key: RecordKey = { resource: 'availability', product_id, edition: currency, part: where.part };
  if (mirror.schedule.records.find(key) === null) return withoutDates(sync, asked, sale, 'outside-horizon');
  return { ...asked, id, prepared_at: clock.monotonic(), key, tier: tierOfDay(own.cadence.availability, where.day) };
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
