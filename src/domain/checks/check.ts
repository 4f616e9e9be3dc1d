import { type DayForm, type Offer, slotTime, type Timeslot } from '../catalogue/availability.ts';

/*
 * The check before an order (specification §1 rule 5): whether what a shopper was shown can still be had, by what the
 * service says now.
 */

/** Holds: as asked, at the price expected or shown. Changed: for sale, but price or quantity differ. Unknown: nobody said. */
export type CheckVerdict = 'holds' | 'changed' | 'gone' | 'unknown';

/** Why; a closed list, each with the verdict that it leads to. */
const verdictOf = {
  withdrawn: 'gone',
  'not-on-sale': 'gone',
  /** A notification has closed it, and no read has decided yet. */
  'closure-unconfirmed': 'gone',
  'date-past': 'gone',
  'date-sold-out': 'gone',
  /** The time is not offered, or has no tickets left. */
  'slot-gone': 'gone',
  /** A variant is not offered then, or has no tickets left. */
  'variant-gone': 'gone',
  'not-enough-tickets': 'changed',
  'over-max-per-order': 'changed',
  'price-changed': 'changed',
  /** It is for sale, but the service names no price that could be compared. */
  'price-not-said': 'changed',
  /** Beyond the dates that are mirrored: nobody was asked. */
  'outside-horizon': 'unknown',
  /** Its dates are answered as not on sale, its own read says that it is: one of them comes from a cache. */
  'sale-contradicted': 'unknown',
  'service-unreachable': 'unknown',
  throttled: 'unknown',
  /** The caller has had its live checks of this minute. */
  'caller-limit': 'unknown',
  /** An answer came that cannot be used. */
  'service-failed': 'unknown',
  /** The service answered for other dates than it was asked for. */
  'other-dates': 'unknown',
  'service-refused': 'unknown',
  'key-refused': 'unknown',
  deadline: 'unknown',
  /** The daemon is being stopped. */
  stopping: 'unknown',
} as const satisfies Record<string, CheckVerdict>;

export type CheckReason = keyof typeof verdictOf;
export const checkReasons = Object.keys(verdictOf) as readonly CheckReason[];

/** The reasons for which nobody can say. */
export type Unanswered = {
  [Reason in CheckReason]: (typeof verdictOf)[Reason] extends 'unknown' ? Reason : never;
}[CheckReason];

/** What somebody wants of a date. */
export interface Wanted {
  /** `HH:MM`, `whole_day`, or the service's own word; null: any time. */
  readonly time: string | null;
  /** None: tickets of any kind. */
  readonly variants: readonly { readonly variant_id: number; readonly count: number }[];
  /** How many tickets: the sum over the variants where some are named. */
  readonly quantity: number;
}

/** Whether a product can be sold at all. */
export type SaleState =
  | 'on-sale'
  | Extract<CheckReason, 'withdrawn' | 'not-on-sale' | 'closure-unconfirmed' | 'sale-contradicted'>;

/** One date of a product as it was read. */
export interface DateOffer {
  /** Null: sold out. */
  readonly form: DayForm | null;
  readonly max_tickets_per_order: number | null;
}

/** Whether what is wanted can be had. */
export interface OfferStanding {
  readonly sellable: boolean;
  /** Why not; empty where it can. */
  readonly reasons: readonly CheckReason[];
  /** In minor units: of all that is wanted, or of the cheapest ticket where no variant is named. Null: not sellable, or not said. */
  readonly price: number | null;
  /** The time that this is about; null: none fits. */
  readonly time: string | null;
}

/** What is wanted beside one date. Null where the date was never read. Of several times the cheapest that fits. */
export function standingOf(wanted: Wanted, sale: SaleState, offer: DateOffer | null): OfferStanding | null {
  if (sale !== 'on-sale') return refused(sale);
  if (offer === null) return null;
  const { form, max_tickets_per_order: most } = offer;
  if (form === null || form[0] === 0) return refused('date-sold-out');
  const slots = form[2].filter(([time]) => wanted.time === null || slotTime(time) === wanted.time);
  if (slots.length === 0) return refused(wanted.time === null ? 'date-sold-out' : 'slot-gone');
  const standings = slots.map((slot) => inSlot(wanted, slot, most)).sort(better);
  const [best = refused('date-sold-out')] = standings;
  const soldOut = wanted.time === null && best.reasons[0] === 'slot-gone';
  return soldOut ? refused('date-sold-out') : best;
}

function inSlot(wanted: Wanted, [time, places, offers]: Timeslot, most: number | null): OfferStanding {
  const reasons = new Set<CheckReason>();
  if (places === 0 || offers.every((offer) => offer[1] === 0)) return refused('slot-gone');
  for (const { variant_id, count } of wanted.variants) {
    const left = leftOf(offers.find(([id]) => id === variant_id));
    if (left === 0) reasons.add('variant-gone');
    else if (left < count) reasons.add('not-enough-tickets');
  }
  const any = offers.reduce((sum, offer) => sum + leftOf(offer), 0);
  if (wanted.quantity > Math.min(places ?? Number.POSITIVE_INFINITY, any)) reasons.add('not-enough-tickets');
  if (most !== null && wanted.quantity > most) reasons.add('over-max-per-order');
  const sellable = reasons.size === 0;
  return { sellable, reasons: [...reasons], price: sellable ? priceOf(wanted, offers) : null, time: slotTime(time) };
}

/** Tickets of a variant: 0 where it is not offered, without a limit where none is said. */
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

/** What can be had before what cannot, then the cheaper one. */
function better(a: OfferStanding, b: OfferStanding): number {
  const [first, second] = [a, b].map(({ reasons }) => rank[worst(reasons)]);
  if (first !== second) return (first ?? 0) - (second ?? 0);
  const [mine, other] = [a, b].map(({ price }) => price ?? Number.POSITIVE_INFINITY) as [number, number];
  return mine === other ? 0 : mine < other ? -1 : 1;
}

function refused(reason: CheckReason): OfferStanding {
  return { sellable: false, reasons: [reason], price: null, time: null };
}

/** The verdict on what the service says now, beside the price expected (or, where none is, the one that was shown). */
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
