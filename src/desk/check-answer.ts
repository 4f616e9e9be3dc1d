import { z } from 'zod';
import type { SaidNow } from '../dates/availability.ask.ts';
import { slotTime, summarise } from '../dates/availability.rules.ts';
import { withoutPassed } from '../dates/passed-times.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import { minutesPassed } from '../kernel/time/venue-clock.ts';
import { amount, instant, maybe, money, type Shaped, text } from '../kernel/values/answer-values.ts';
import { laterOf } from '../push/off-sale.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { alternative, alternativesTo } from './alternatives.ts';
import type { ReadDate } from './checks.store.ts';
import { type Rating, rateCheck } from './error-rate.rules.ts';
import type { LiveAnswer } from './live-call.ts';
import {
  checkReasons,
  judgeCheck,
  type OfferStanding,
  type SaleState,
  standingOf,
  type Unanswered,
  type Wanted,
} from './verdict.rules.ts';

/** One date as it is now, or as the mirror showed it, for the requested tickets. */
const checkedDate = z.object({
  /** True: everything requested is available. */
  sellable: z.boolean(),
  state: z.enum(['available', 'sold_out', 'not_on_sale']),
  /** The time that the price is for: the requested one, or the cheapest that fits. */
  time: maybe,
  /**
   * The price of all requested variants together, or of one ticket if no variant is named. Null: not sellable, or
   * unknown.
   */
  price: money.nullable(),
  max_tickets_per_order: amount,
  /** The slots of the requested time, or all slots of the date if no time is requested. */
  slots: z.array(
    z.object({
      time: text,
      availability: amount,
      variants: z.array(z.object({ variant_id: z.int(), max_tickets: amount, retail_price: amount })),
    }),
  ),
});
export type CheckedDate = Shaped<typeof checkedDate>;

/** The answer of `POST /v1/check` and `catalogued check --json`. */
export const checkAnswer = z.object({
  verdict: z.enum(['holds', 'changed', 'gone', 'unknown']),
  /** The reasons why the offer does not hold; empty if it does. */
  reasons: z.array(z.enum(checkReasons)),
  /** The service's answer, read at `read_at`. */
  now: checkedDate
    .extend({ read_at: instant })
    .nullable()
    .meta({ description: 'what the service says now; null: it was not asked, or did not answer' }),
  /** The date as the mirror showed it before the check. */
  mirror: checkedDate
    .extend({ checked_at: instant, stale: z.boolean() })
    .nullable()
    .meta({ description: 'what the mirror showed before; null: it had no row' }),
  /** Alternatives if the offer does not hold; empty if the verdict is unknown. */
  alternatives: z.array(alternative),
});
export type CheckAnswer = Shaped<typeof checkAnswer>;

/** A question about one date. */
export interface AskedDate {
  readonly product_id: number;
  readonly date: string;
  readonly currency: string;
  readonly today: string;
  /** Minutes of the date that have passed at the venue. */
  readonly minutes_passed: number;
  readonly wanted: Wanted;
  readonly expected: number | null;
  /** What the mirror showed when the question was asked. The date is null if it had no row. */
  readonly sale: SaleState;
  readonly day: ReadDate | null;
}

/** The answer to all callers that share a question, and its rating of the mirror. Null: it does not rate it. */
export interface CheckFindings {
  readonly answer: CheckAnswer;
  readonly rating: Rating | null;
}

/** Compares the service's answer with the mirror's copy from before the check. */
export function compare(sync: Sync, asked: AskedDate, live: LiveAnswer): CheckFindings {
  const { mirror, log } = sync;
  const { product_id, date, currency, wanted, expected } = asked;
  const { sent_at, unanswered: left, said } = live;
  const sale = saleNow(sync, product_id, live);
  const day = said?.dates == null ? mirror.checks.date(product_id, currency, date) : saidOf(date, said.dates, sent_at);
  const shown = shownTo(asked);
  const now = standingOf(wanted, sale, day, asked.minutes_passed);
  if (left.some(({ from, to }) => from <= date && date <= to))
    return { answer: unansweredCheck(sync, asked, 'other-dates'), rating: null };
  // A complete answer contains every date of its window. Without this date it says nothing about the date.
  if (now === null) return { answer: unansweredCheck(sync, asked, 'service-failed'), rating: null };
  const { verdict, reasons } = judgeCheck(now, shown, expected);
  const rating = rateCheck(shown, now);
  if (rating !== 'right' && rating !== 'unknown')
    log.info({ product_id, date, mirror: rating }, 'a live check found the mirror outdated');
  const answer: CheckAnswer = {
    verdict,
    reasons,
    now: { ...describe(asked, now, sale, day), read_at: sent_at },
    mirror: shownBy(sync, asked),
    alternatives:
      verdict === 'holds' || verdict === 'unknown'
        ? []
        : alternativesTo(mirror.checks, { ...asked, passed: passedBy(sync), day, on_sale: sale === 'on-sale' }),
  };
  return { answer, rating };
}

/** Answers that the service no longer has the product. */
export function goneBy(sync: Sync, asked: AskedDate, reason: 'withdrawn' | 'not-found'): CheckFindings {
  const now: OfferStanding = { sellable: false, reasons: [reason], price: null, time: null };
  return { answer: withoutCall(sync, asked, reason), rating: rateCheck(shownTo(asked), now) };
}

/**
 * Returns a date as the service has just answered it; null: the answer does not cover it. A date that is covered but
 * absent is sold out.
 */
function saidOf(date: string, { from, answer }: NonNullable<SaidNow['dates']>, sent_at: Instant): ReadDate | null {
  if (date < from || date > answer.covered_to) return null;
  const { days, max_tickets_per_order } = answer;
  return { date, form: days.get(date) ?? null, max_tickets_per_order, checked_at: sent_at, stale_at: sent_at };
}

/**
 * Returns the sale status after an answer. The product's dates may still be withheld because another window was
 * answered as not on sale: this window was not. If the product's own read disagrees, the later of the two wins.
 */
function saleNow({ mirror }: Sync, product_id: number, { sale: said, sent_at }: LiveAnswer): SaleState {
  const known = mirror.checks.saleState(product_id) ?? 'withdrawn';
  const product = mirror.catalogue.products.find(product_id);
  if (known === 'withdrawn' || known === 'closure-unconfirmed' || product === null) return known;
  if (known === 'not-on-sale')
    return said === 'on' ? laterOf({ at: product.read_at, says: known }, { at: sent_at, says: 'on-sale' }) : known;
  if (said === 'on') return 'on-sale';
  const off_at = product.dates_off_at ?? sent_at;
  return laterOf({ at: product.read_at, says: 'on-sale' }, { at: off_at, says: 'not-on-sale' });
}

/** Returns an answer without a verdict, with the mirror's copy only. */
export function unansweredCheck(sync: Sync, asked: AskedDate, reason: Unanswered): CheckAnswer {
  return { verdict: 'unknown', reasons: [reason], now: null, mirror: shownBy(sync, asked), alternatives: [] };
}

/** Returns the answer to a question without dates of the service: the product or its time is gone. */
export function withoutCall(
  sync: Sync,
  asked: AskedDate,
  reason: 'withdrawn' | 'not-found' | 'date-past' | 'time-past',
): CheckAnswer {
  const on_sale = asked.sale === 'on-sale' && reason !== 'withdrawn' && reason !== 'not-found';
  return {
    verdict: 'gone',
    reasons: [reason],
    now: null,
    mirror: shownBy(sync, asked),
    alternatives: alternativesTo(sync.mirror.checks, { ...asked, passed: passedBy(sync), on_sale }),
  };
}

/** Returns a function that computes how many minutes of a date have passed at the venue of a product. */
function passedBy({ mirror, clock }: Sync): (product_id: number, date: string) => number {
  return (product_id, date) =>
    minutesPassed(mirror.catalogue.products.find(product_id)?.timezone ?? null, date, clock.now());
}

/** Returns the offer as the mirror showed it; null: it had no row. */
function shownTo({ wanted, sale, day, minutes_passed }: AskedDate): OfferStanding | null {
  return standingOf(wanted, sale, day, minutes_passed);
}

function shownBy({ clock }: Sync, asked: AskedDate): CheckAnswer['mirror'] {
  const { sale, day } = asked;
  const shown = shownTo(asked);
  if (day === null || shown === null) return null;
  const { checked_at, stale_at } = day;
  return { ...describe(asked, shown, sale, day), checked_at, stale: clock.now() >= stale_at };
}

function describe(
  { wanted, currency, minutes_passed }: AskedDate,
  { sellable, price, time }: OfferStanding,
  sale: SaleState,
  day: ReadDate | null,
): CheckedDate {
  const whole = sale === 'on-sale' ? (day?.form ?? null) : null;
  const form = whole === null ? null : withoutPassed(whole, minutes_passed);
  const isOver = whole !== null && whole[2].length > 0 && form?.[2].length === 0;
  const state =
    sale !== 'on-sale' || isOver
      ? 'not_on_sale'
      : form !== null && summarise(form).available
        ? 'available'
        : 'sold_out';
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
