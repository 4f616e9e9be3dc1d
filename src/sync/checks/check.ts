import { slotTime, summarise, type Tier, tierOfDay } from '../../domain/catalogue/availability.ts';
import {
  type CheckReason,
  type CheckVerdict,
  judgeCheck,
  type OfferStanding,
  type SaleState,
  standingOf,
  type Unanswered,
  type Wanted,
} from '../../domain/checks/check.ts';
import { type CheckQuestion, deadline, wantedOf } from '../../domain/checks/check-question.ts';
import { rateCheck } from '../../domain/checks/error-rate.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { windowOfDate } from '../../domain/schedule/window-of-date.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { ReadDate } from '../../mirror/checks.ts';
import { writeTroubleOf } from '../../sqlite/fault.ts';
import type { Limiter } from '../../upstream/limiter.ts';
import type { SaidNow } from '../reads/availability.ts';
import type { Ports } from '../records/context.ts';
import { type Alternative, alternativesTo } from './alternatives.ts';
import { type Callers, countCallers } from './callers.ts';
import { type CheckCounter, checkCounter } from './counts.ts';
import { createSingleFlight, type LiveResult, type SharedCall, type SingleFlight } from './single-flight.ts';

/** What checks reach through. Disposing ends those that wait, and writes what was counted. */
export interface CheckPorts extends Omit<Ports, 'upstream'>, AsyncDisposable {
  readonly singleFlight: SingleFlight;
  readonly counter: CheckCounter;
  /** What is being asked, by question. */
  readonly waiting: Map<string, Waiting>;
  readonly callers: Callers;
}

/** One date as it is, or was shown, for what is asked. */
export interface CheckedDate {
  /** Whether all that is asked can be had. */
  readonly sellable: boolean;
  readonly state: 'available' | 'sold_out' | 'not_on_sale';
  /** The time that price is of: the one asked for, or the cheapest that fits. */
  readonly time: string | null;
  /** Of all variants asked for together, of one ticket where none is named. Null: not sellable, or not said. */
  readonly price: { readonly amount: number; readonly currency: string } | null;
  readonly max_tickets_per_order: number | null;
  /** The slots of the time asked for, else all of the date. */
  readonly slots: readonly {
    readonly time: string;
    readonly availability: number | null;
    readonly variants: readonly {
      readonly variant_id: number;
      readonly max_tickets: number | null;
      readonly retail_price: number | null;
    }[];
  }[];
}

/** The answer of `POST /v1/check` and `catalogued check --json` (design 3.4). */
export interface CheckAnswer {
  readonly verdict: CheckVerdict;
  /** Why not; empty where it holds. */
  readonly reasons: readonly CheckReason[];
  /** What the service says, asked at `read_at`; null: it was not asked, or did not answer. */
  readonly now: (CheckedDate & { readonly read_at: number }) | null;
  /** What the mirror showed before; null: it had no row. */
  readonly mirror: (CheckedDate & { readonly checked_at: number; readonly stale: boolean }) | null;
  /** Where it does not hold; none where nobody knows. */
  readonly alternatives: readonly Alternative[];
}

export function checkPorts({
  ports: { upstream, ...ports },
  limiter,
}: {
  readonly ports: Ports;
  readonly limiter: Pick<Limiter, 'pause'>;
}): CheckPorts {
  const singleFlight = createSingleFlight({ upstream, ...ports }, limiter);
  const counter = checkCounter(ports);
  return {
    ...ports,
    singleFlight,
    counter,
    waiting: new Map(),
    callers: countCallers(ports.clock),
    [Symbol.asyncDispose]: async () => {
      await singleFlight[Symbol.asyncDispose]();
      // A second of counts is no reason not to end.
      try {
        counter.flush();
      } catch (error) {
        if (writeTroubleOf(error) === null) throw error;
      }
    },
  };
}

/** A question, and where its date lies. */
interface Asked {
  readonly product_id: number;
  readonly date: string;
  readonly currency: string;
  readonly today: string;
  readonly wanted: Wanted;
  readonly expected: number | null;
}

/** A question that the service has to answer: whoever asks the same just then needs not be looked up again. */
interface Waiting extends Asked {
  readonly id: string;
  /** When it was looked up, on the clock that never jumps. */
  readonly prepared_at: number;
  readonly key: RecordKey;
  readonly tier: Tier;
}

/** A service may take half a minute to answer: meanwhile it gets midnight at the venue, and products are withdrawn. */
const sharedMs = 100;

/**
 * The live check before an order (specification §1 rule 5): what the service says now beside what the mirror showed; the
 * mirror has the answer afterwards. Answers within the question's deadline, with `unknown` where the service has not.
 * Throws `unknown-product`, and `currency-not-mirrored` or `unknown-variant` for what cannot be asked.
 */
export async function checkBeforeOrder(
  ports: CheckPorts,
  question: CheckQuestion,
  signal: AbortSignal,
): Promise<CheckAnswer> {
  const { deadline_ms = deadline.usual, caller = null, ...same } = question;
  const id = JSON.stringify(same);
  const known = ports.waiting.get(id);
  const isFresh = known !== undefined && ports.clock.monotonic() - known.prepared_at < sharedMs;
  const waiting = isFresh ? known : prepare(ports, question, id);
  if ('verdict' in waiting) return waiting;
  if (caller !== null && !ports.singleFlight.waits(waiting.key) && ports.callers.take(caller) === 'spent')
    return overLimit(ports, waiting);
  ports.waiting.set(id, waiting);
  try {
    const { call, result } = ports.singleFlight.join(waiting.key, { deadline_ms, signal });
    const { product_id, date, currency } = waiting;
    if (!call.shown.has(date)) call.shown.set(date, ports.mirror.checks.date(product_id, currency, date));
    return conclude(ports, waiting, call, await result);
  } finally {
    if (ports.waiting.get(id) === waiting) ports.waiting.delete(id);
  }
}

/** Nobody is asked for a caller that has used up its calls: what the mirror shows, and no verdict. */
function overLimit(ports: CheckPorts, asked: Waiting): CheckAnswer {
  const { product_id, date, currency, tier } = asked;
  ports.counter.add({ product_id, tier }, 'unanswered');
  const day = ports.mirror.checks.date(product_id, currency, date);
  const sale = ports.mirror.checks.saleState(product_id) ?? 'withdrawn';
  return unanswered(ports, asked, { day, sale }, 'caller-limit');
}

/** Looks up what a question is about; answers what needs no call. */
function prepare(ports: CheckPorts, question: CheckQuestion, id: string): Waiting | CheckAnswer {
  const { mirror, clock, policy } = ports;
  const { product_id, date, expect_price: price = null } = question;
  const product = mirror.products.find(product_id);
  const sale = mirror.checks.saleState(product_id);
  if (product === null || sale === null) throw notMirrored(product_id);
  const currency = currencyOf(ports, price?.currency ?? null);
  refuseUnknownVariants(ports, question);
  const own = policy.of(product.category);
  const where = windowOfDate(own.extent.windows, { timezone: product.timezone, date, now: clock.now() });
  const asked = {
    product_id,
    date,
    currency,
    today: where.today,
    wanted: wantedOf(question),
    expected: price?.amount ?? null,
  };
  if (sale === 'withdrawn') return withoutAsking(ports, asked, sale, 'withdrawn');
  if (where.kind === 'past') return withoutAsking(ports, asked, sale, 'date-past');
  if (where.kind === 'beyond') return withoutAsking(ports, asked, sale, 'outside-horizon');
  const key: RecordKey = { resource: 'availability', product_id, edition: currency, part: where.part };
  if (mirror.records.find(key) === null) return withoutAsking(ports, asked, sale, 'outside-horizon');
  return { ...asked, id, prepared_at: clock.monotonic(), key, tier: tierOfDay(own.cadence.availability, where.day) };
}

/** All who asked the same of one read get the same answer: it is worked out once. */
function conclude(ports: CheckPorts, asked: Waiting, call: SharedCall, result: LiveResult): CheckAnswer {
  const { product_id, date, id, tier } = asked;
  if (result.kind === 'unanswered') {
    ports.counter.add({ product_id, tier }, 'unanswered');
    return unanswered(ports, asked, { day: call.shown.get(date) ?? null, sale: call.sale }, result.reason);
  }
  if (result.kind === 'gone') {
    const shown = standingOf(asked.wanted, call.sale, call.shown.get(date) ?? null);
    ports.counter.add({ product_id, tier }, rateCheck(shown, goneNow));
    return withoutAsking(ports, asked, call.sale, 'withdrawn', call.shown.get(date) ?? null);
  }
  const known = call.found.get(id) as ReturnType<typeof compare> | undefined;
  const found = known ?? compare(ports, asked, call, result);
  call.found.set(id, found);
  if (found.rating !== null) ports.counter.add({ product_id, tier }, found.rating);
  return found.answer;
}

const goneNow: OfferStanding = { sellable: false, reasons: ['withdrawn'], price: null, time: null };

function compare(
  ports: CheckPorts,
  asked: Asked,
  call: SharedCall,
  { sale: spoken, sent_at, unanswered: left, said }: Extract<LiveResult, { kind: 'answered' }>,
) {
  const { mirror } = ports;
  const { product_id, date, currency, wanted, expected } = asked;
  const known = mirror.checks.saleState(product_id) ?? 'withdrawn';
  const sale = saleNow(known, spoken);
  const stored = mirror.checks.date(product_id, currency, date);
  const day = said?.dates == null ? stored : saidOf(date, said.dates, sent_at);
  const before = call.shown.get(date) ?? null;
  const shown = standingOf(wanted, call.sale, before);
  const now = standingOf(wanted, sale, day);
  if (left.some(({ from, to }) => from <= date && date <= to))
    return { answer: unanswered(ports, asked, { day: before, sale: call.sale }, 'other-dates'), rating: null };
  // A whole answer has every date of its window: without it nothing was said of this one.
  if (now === null)
    return { answer: unanswered(ports, asked, { day: before, sale: call.sale }, 'service-failed'), rating: null };
  const { verdict, reasons } = judgeCheck(now, shown, expected);
  const answer: CheckAnswer = {
    verdict,
    reasons,
    now: { ...describe(asked, now, sale, day), read_at: sent_at },
    mirror: shownBy(ports, asked, { day: before, sale: call.sale }, shown),
    alternatives:
      verdict === 'holds' || verdict === 'unknown'
        ? []
        : alternativesTo(mirror.checks, { ...asked, day, on_sale: sale === 'on-sale' }),
  };
  return { answer, rating: rateCheck(shown, now) };
}

/** A date as the service has just said it; null: it said nothing of it. One that is covered and absent is sold out. */
function saidOf(date: string, { from, answer }: NonNullable<SaidNow['dates']>, sent_at: number): ReadDate | null {
  if (date < from || date > answer.covered_to) return null;
  const { days, max_tickets_per_order } = answer;
  return { date, form: days.get(date) ?? null, max_tickets_per_order, checked_at: sent_at, stale_at: sent_at };
}

/** Another window of its dates may still be answered as not on sale: this one was not. */
function saleNow(known: SaleState, said: Extract<LiveResult, { kind: 'answered' }>['sale']): SaleState {
  if (said === 'on') return known === 'sale-contradicted' ? 'on-sale' : known;
  return known === 'on-sale' ? 'sale-contradicted' : known;
}

interface Seen {
  readonly day: ReadDate | null;
  readonly sale: SaleState;
}

function unanswered(ports: CheckPorts, asked: Asked, seen: Seen, reason: Unanswered): CheckAnswer {
  const shown = standingOf(asked.wanted, seen.sale, seen.day);
  return {
    verdict: 'unknown',
    reasons: [reason],
    now: null,
    mirror: shownBy(ports, asked, seen, shown),
    alternatives: [],
  };
}

/** What is known without a call: nobody sells it, or nobody here reads that date. */
function withoutAsking(
  ports: CheckPorts,
  asked: Asked,
  sale: SaleState,
  reason: 'withdrawn' | 'date-past' | 'outside-horizon',
  day: ReadDate | null = ports.mirror.checks.date(asked.product_id, asked.currency, asked.date),
): CheckAnswer {
  const { wanted } = asked;
  if (reason === 'outside-horizon') return unanswered(ports, asked, { day, sale }, reason);
  const on_sale = sale === 'on-sale';
  return {
    verdict: 'gone',
    reasons: [reason],
    now: null,
    mirror: shownBy(ports, asked, { day, sale }, standingOf(wanted, sale, day)),
    alternatives: alternativesTo(ports.mirror.checks, { ...asked, day, on_sale }),
  };
}

function shownBy(
  { clock }: CheckPorts,
  asked: Asked,
  { day, sale }: Seen,
  shown: OfferStanding | null,
): CheckAnswer['mirror'] {
  if (day === null || shown === null) return null;
  const { checked_at, stale_at } = day;
  return { ...describe(asked, shown, sale, day), checked_at, stale: clock.now() >= stale_at };
}

function describe(
  { wanted, currency }: Asked,
  { sellable, price, time }: OfferStanding,
  sale: SaleState,
  day: ReadDate | null,
): CheckedDate {
  const form = sale === 'on-sale' ? (day?.form ?? null) : null;
  const state =
    sale !== 'on-sale' ? 'not_on_sale' : form !== null && summarise(form).available ? 'available' : 'sold_out';
  const slots = (form?.[2] ?? [])
    .map(([at, availability, offers]) => ({
      time: slotTime(at),
      availability,
      variants: offers.map(([variant_id, max_tickets = null, retail_price = null]) => ({
        variant_id,
        max_tickets,
        retail_price,
      })),
    }))
    .filter((slot) => wanted.time === null || slot.time === wanted.time);
  return {
    sellable,
    state,
    time: sellable ? time : wanted.time,
    price: price === null ? null : { amount: price, currency },
    max_tickets_per_order: day?.max_tickets_per_order ?? null,
    slots,
  };
}

function currencyOf({ policy }: CheckPorts, wanted: string | null): string {
  const { currencies } = policy.extent;
  if (wanted === null) return currencies[0];
  if (currencies.includes(wanted)) return wanted;
  throw new CataloguedError('currency-not-mirrored', `${wanted.slice(0, 20)} is not mirrored`, {
    exitCode: exitCodes.usage,
    hint: `use one of service.currencies: ${currencies.join(', ')}`,
  });
}

/** A variant that was never read of the product is a mistake; before anything was read, only the service knows. */
function refuseUnknownVariants({ mirror }: CheckPorts, { product_id, variants = [] }: CheckQuestion): void {
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
