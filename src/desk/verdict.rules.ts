import {
  type DayForm,
  isUncounted,
  isUnpriced,
  type Offer,
  slotTime,
  type Timeslot,
} from '../dates/availability.rules.ts';
import { hasPassed, minuteOf, notBegun, withoutPassed } from '../dates/passed-times.rules.ts';

/*
 * Judges the check before an order (specification §1 rule 5): whether the offer that a shopper was shown is still
 * available, according to the service now.
 */

/**
 * Verdict of a check. Holds: available as requested, at the price expected or shown. Changed: for sale, but price or
 * quantity differ. Gone: not for sale. Unknown: no answer.
 */
export type CheckVerdict = 'holds' | 'changed' | 'gone' | 'unknown';

/** The closed list of reasons, each with its verdict. */
const verdictOf = {
  withdrawn: 'gone',
  /** The service answers 404 for both its dates and the product itself. */
  'not-found': 'gone',
  'not-on-sale': 'gone',
  /** A notification has closed it, and no read has confirmed the closure yet. */
  'closure-unconfirmed': 'gone',
  'date-past': 'gone',
  /** The time has begun at the venue, or was the last one of its date. */
  'time-past': 'gone',
  'date-sold-out': 'gone',
  /** The time is not offered, or has no tickets left. */
  'slot-gone': 'gone',
  /** A variant is not offered then, or has no tickets left. */
  'variant-gone': 'gone',
  'not-enough-tickets': 'changed',
  'over-max-per-order': 'changed',
  'price-changed': 'changed',
  /** It is for sale, but the service names no price to compare with. */
  'price-not-said': 'changed',
  /** Beyond the mirrored dates, so the service was not asked. */
  'outside-horizon': 'unknown',
  /**
   * Its dates are answered as not on sale, but its own read from the same time as on sale: one of the answers comes
   * from a cache.
   */
  'sale-contradicted': 'unknown',
  'service-unreachable': 'unknown',
  throttled: 'unknown',
  /** The caller has used up its live checks for this minute. */
  'caller-limit': 'unknown',
  /** The answer cannot be used. */
  'service-failed': 'unknown',
  /** The service answered for other dates than requested. */
  'other-dates': 'unknown',
  /** A count or a price of what is wanted is in the answer, and cannot be read. */
  unreadable: 'unknown',
  'service-refused': 'unknown',
  'key-refused': 'unknown',
  deadline: 'unknown',
  /** The daemon is being stopped. */
  stopping: 'unknown',
} as const satisfies Record<string, CheckVerdict>;

export type CheckReason = keyof typeof verdictOf;
export const checkReasons = Object.keys(verdictOf) as readonly CheckReason[];

/** Reasons of an unknown verdict. */
export type Unanswered = {
  [Reason in CheckReason]: (typeof verdictOf)[Reason] extends 'unknown' ? Reason : never;
}[CheckReason];

/** Time, variants and quantity that are wanted on a date. */
export interface Wanted {
  /** `HH:MM`, `whole_day`, or the service's own word; null: any time. */
  readonly time: string | null;
  /** Empty: tickets of any kind. */
  readonly variants: readonly { readonly variant_id: number; readonly count: number }[];
  /** Number of tickets: the sum over the variants, if any are named. */
  readonly quantity: number;
}

/** State of the sale of a product: on sale, or the reason why it cannot be sold. */
export type SaleState =
  | 'on-sale'
  | Extract<CheckReason, 'withdrawn' | 'not-on-sale' | 'closure-unconfirmed' | 'sale-contradicted'>;

/** One date of a product as it was read. */
export interface DateOffer {
  /** Null: sold out. */
  readonly form: DayForm | null;
  readonly max_tickets_per_order: number | null;
}

/** Availability of the wanted tickets. */
export interface OfferStanding {
  readonly sellable: boolean;
  /** Reasons why it is not available; empty if it is. */
  readonly reasons: readonly CheckReason[];
  /**
   * The price in minor units of everything wanted, or of the cheapest ticket if no variant is named. Null: not
   * sellable, or unknown.
   */
  readonly price: number | null;
  /** Time that the result is about; null if none fits. */
  readonly time: string | null;
}

/**
 * Compares the wanted tickets with one date, of which `minutes_passed` minutes have passed at the venue. Chooses the
 * cheapest of several fitting times. Null if the date was never read.
 */
export function standingOf(
  wanted: Wanted,
  sale: SaleState,
  offer: DateOffer | null,
  minutes_passed = notBegun,
): OfferStanding | null {
  if (sale !== 'on-sale') return refused(sale);
  if (offer === null) return null;
  const { form: whole, max_tickets_per_order: most } = offer;
  if (isTimePast(wanted.time, minutes_passed)) return refused('time-past');
  if (whole === null) return refused('date-sold-out');
  const form = withoutPassed(whole, minutes_passed);
  if (form[2].length === 0 && whole[2].length > 0) return refused('time-past');
  if (form[0] === 0) return refused('date-sold-out');
  const slots = form[2].filter(([time]) => wanted.time === null || slotTime(time) === wanted.time);
  if (slots.length === 0) return refused(wanted.time === null ? 'date-sold-out' : 'slot-gone');
  const isUnlimited =
    isUncounted(null, form[3], 'max_tickets_per_order') || isUncounted(form[0], form[3], 'availability');
  const standings = slots.map((slot) => inSlot(wanted, slot, { most, isUnlimited })).sort(better);
  const [best = refused('date-sold-out')] = standings;
  const soldOut = wanted.time === null && best.reasons[0] === 'slot-gone';
  return soldOut ? refused('date-sold-out') : best;
}

/** Returns whether the wanted time has begun. A time that is not on the clock never has. */
export function isTimePast(time: string | null, minutes_passed: number): boolean {
  const minute = time === null ? null : minuteOf(time);
  return minute !== null && hasPassed(minute, minutes_passed);
}

/** `isUnlimited`: the number of tickets of the date, or of one order, cannot be read. */
function inSlot(
  wanted: Wanted,
  [time, places, offers, extra]: Timeslot,
  { most, isUnlimited }: { readonly most: number | null; readonly isUnlimited: boolean },
): OfferStanding {
  const reasons = new Set<CheckReason>();
  if (places === 0 || offers.every((offer) => offer[1] === 0)) return refused('slot-gone');
  for (const { variant_id, count } of wanted.variants) {
    const left = leftOf(offers.find(([id]) => id === variant_id));
    if (left === 0) reasons.add('variant-gone');
    else if (left < count) reasons.add('not-enough-tickets');
  }
  if (isUnlimited || isUncounted(places, extra, 'availability') || isUnreadable(wanted, offers))
    reasons.add('unreadable');
  const any = offers.reduce((sum, offer) => sum + leftOf(offer), 0);
  if (wanted.quantity > Math.min(places ?? Number.POSITIVE_INFINITY, any)) reasons.add('not-enough-tickets');
  if (most !== null && wanted.quantity > most) reasons.add('over-max-per-order');
  const sellable = reasons.size === 0;
  return { sellable, reasons: [...reasons], price: sellable ? priceOf(wanted, offers) : null, time: slotTime(time) };
}

/**
 * Returns whether a count or the price of something wanted cannot be read. If no variant is named, all that are for sale
 * are wanted, because any of them may be the cheapest.
 */
function isUnreadable({ variants }: Wanted, offers: readonly Offer[]): boolean {
  const wanted =
    variants.length === 0
      ? offers.filter((offer) => offer[1] !== 0)
      : offers.filter(([id]) => variants.some(({ variant_id }) => variant_id === id));
  return wanted.some(
    ([, tickets, price, , , , , extra]) =>
      isUncounted(tickets, extra, 'max_tickets', 'max_orders') || isUnpriced(price, extra),
  );
}

/** Returns the tickets left of a variant: 0 if it is not offered, infinite if no limit is stated. */
function leftOf(offer: Offer | undefined): number {
  return offer === undefined ? 0 : (offer[1] ?? Number.POSITIVE_INFINITY);
}

function priceOf({ variants }: Wanted, offers: readonly Offer[]): number | null {
  if (variants.length === 0) {
    const known = offers.flatMap(([, left, price]) => (left === 0 || price == null || price < 0 ? [] : [price]));
    const paid = known.filter((price) => price > 0);
    return known.length === 0 ? null : Math.min(...(paid.length === 0 ? known : paid));
  }
  let total = 0;
  for (const { variant_id, count } of variants) {
    const price = offers.find(([id]) => id === variant_id)?.[2];
    if (price == null) return null;
    total += count * price;
  }
  return Number.isSafeInteger(total) ? total : null;
}

const rank: Readonly<Record<CheckVerdict, number>> = { holds: 0, changed: 1, unknown: 2, gone: 3 };

/** Compares two standings: available before unavailable, then the cheaper one. */
function better(a: OfferStanding, b: OfferStanding): number {
  const [first, second] = [a, b].map(({ reasons }) => rank[worst(reasons)]);
  if (first !== second) return (first ?? 0) - (second ?? 0);
  const [mine, other] = [a, b].map(({ price }) => price ?? Number.POSITIVE_INFINITY) as [number, number];
  return mine === other ? 0 : mine < other ? -1 : 1;
}

function refused(reason: CheckReason): OfferStanding {
  return { sellable: false, reasons: [reason], price: null, time: null };
}

/** Returns the verdict: compares the service's current offer with the expected price, or else with the shown one. */
export function judgeCheck(
  now: OfferStanding,
  shown: OfferStanding | null,
  expected: number | null,
): { verdict: CheckVerdict; reasons: readonly CheckReason[] } {
  const price = expected ?? shown?.price ?? null;
  const reasons = [...now.reasons];
  if (now.sellable && price !== null && now.price !== price)
    reasons.push(now.price === null ? 'price-not-said' : 'price-changed');
  return { verdict: worst(reasons), reasons };
}

function worst(reasons: readonly CheckReason[]): CheckVerdict {
  const verdicts = new Set<CheckVerdict>(reasons.map((reason) => verdictOf[reason]));
  return (['gone', 'unknown', 'changed'] as const).find((verdict) => verdicts.has(verdict)) ?? 'holds';
}
