import {
  type AvailabilityAnswer,
  type DayForm,
  type Extra,
  type Offer,
  type Timeslot,
  timeOfSlot,
} from '../domain/catalogue/availability.ts';
import type { VariantGroup } from '../domain/catalogue/variant.ts';
import type { RowAnswer } from '../domain/service/adapter.ts';
import { addDays, earlier, isDate, later } from '../domain/time/dates.ts';
import { identifier } from '../domain/values/identifier.ts';
import { isMembers, type Members } from '../domain/values/members.ts';
import { decodeVariants } from './decode-variants.ts';
import { elements, elementsIn, flag, integer, members, moneyIn, text, WrongShape } from './shape.ts';

export interface DatesWanted {
  readonly from: string;
  readonly to: string;
  /** The currency asked for: a price in any other stays out of the price columns. */
  readonly currency: string;
  /** True if the distributor's commission is mirrored (`mirror.commission`). */
  readonly commission: boolean;
}

const knownAnswer = new Set(['sales_enabled', 'max_tickets_per_order', 'dates', 'variants']);
const knownDate = new Set(['date', 'availability', 'timeslots']);
const knownSlot = new Set(['time', 'timezone', 'availability', 'variants']);
const knownOffer = new Set(['id', 'max_tickets', 'currency', 'price_mediation', 'pricing_restriction']);
const priceMembers = [
  'total_retail_price_incl_vat',
  'sale_ticket_value_incl_vat',
  'booking_fee_incl_vat',
  'distributor_commission_excl_vat',
] as const;
const knownPrices = new Set<string>(priceMembers);
const placedPrices = [...priceMembers.entries()];

/**
 * Decodes an availability answer (specification §2) into the compact form that the mirror
 * stores.
 */
export function decodeAvailability({ row: answer, covers_to }: RowAnswer, question: DatesWanted): AvailabilityAnswer {
  const days = new Map<string, DayForm>();
  const asked: Asked = {
    ...question,
    money: moneyIn(question.currency),
    refused: { prices: 0 },
    met: { ours: 0, foreign: null },
  };
  let named = null as AvailabilityAnswer['named'];
  for (const element of elementsIn(answer, 'dates')) {
    const day = members(element, 'a date');
    const { date } = day;
    if (!isDate(date)) throw new WrongShape(`date ${JSON.stringify(date)} is no date`);
    named = namedWith(named, date);
    if (date < question.from || date > question.to) continue;
    const form = decodeDay(day, asked);
    const before = days.get(date);
    // Nobody knows which of the two is true, and the one that is wrong would be shown.
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(form))
      throw new WrongShape(`date ${date} stands twice in the answer, and differently`);
    days.set(date, form);
  }
  if (asked.met.ours === 0 && asked.met.foreign !== null)
    throw new WrongShape(`asked for prices in ${question.currency}, answered in ${asked.met.foreign}`);
  return {
    sales_enabled: flag(answer.sales_enabled),
    covered_to: coveredTo(covers_to, question, named),
    named,
    max_tickets_per_order: integer(answer.max_tickets_per_order),
    days,
    variants: decodeVariants(elementsIn(answer, 'variants')),
    groups: groupsIn(answer.groups),
    rest: extraOf(answer, knownAnswer) ?? {},
    ...(asked.refused.prices > 0 ? { refused_prices: asked.refused.prices } : {}),
  };
}

/** Returns the groups that have a name. */
function groupsIn(sent: unknown): VariantGroup[] {
  return (Array.isArray(sent) ? sent : []).filter(isMembers).flatMap((group) => {
    const [group_id, name] = [identifier(group.id), text(group.name)];
    return group_id === null || !name ? [] : [{ group_id, name }];
  });
}

function namedWith(named: AvailabilityAnswer['named'], date: string): AvailabilityAnswer['named'] {
  return { from: earlier(named?.from ?? date, date), to: later(named?.to ?? date, date) };
}

/** Returns the last date that an answer speaks of. Of an end that cannot be read only this is known: it speaks of its own last date. */
function coveredTo(covers_to: unknown, { from, to }: DatesWanted, named: AvailabilityAnswer['named']): string {
  if (covers_to == null) return to;
  const end = isDate(covers_to) ? covers_to : (named?.to ?? addDays(from, -1));
  return earlier(end, to);
}

/** The question, and what was refused of its answer so far. */
type Asked = DatesWanted & {
  readonly money: ReturnType<typeof moneyIn>;
  readonly refused: { prices: number };
  /** Offers in the currency asked for, and another currency that was met. */
  readonly met: { ours: number; foreign: string | null };
};

function decodeDay(day: Members, question: Asked): DayForm {
  const slots = elements(day.timeslots, 'timeslots').map((slot) => members(slot, 'a timeslot'));
  const timezone = slots[0] === undefined ? null : text(slots[0].timezone);
  const timeslots = slots.map((slot) => decodeSlot(slot, timezone, question));
  const extra = withOddities(extraOf(day, knownDate), day, placesOnly);
  return trimmed([integer(day.availability), timezone, timeslots, extra]) as readonly unknown[] as DayForm;
}

function decodeSlot(slot: Members, timezone: string | null, question: Asked): Timeslot {
  const time = text(slot.time);
  if (time === null) throw new WrongShape('a timeslot has no time');
  const offers = elements(slot.variants, 'variants of a timeslot').map((offer) =>
    decodeOffer(members(offer, 'a variant'), question),
  );
  let extra = withOddities(extraOf(slot, knownSlot), slot, placesOnly);
  if (text(slot.timezone) !== timezone) extra = { ...extra, timezone: slot.timezone };
  return trimmed([timeOfSlot(time), integer(slot.availability), offers, extra]) as readonly unknown[] as Timeslot;
}

const placesOnly = ['availability'] as const;
const offerNumbers = ['max_tickets', 'pricing_restriction'] as const;
const noPrices: Members = {};

/** In the order of `priceMembers`. */
type Amounts = readonly [retail: Amount, value: Amount, fee: Amount, commission: Amount];
type Amount = number | null;
const noAmounts: Amounts = [null, null, null, null];

function decodeOffer(offer: Members, { currency, commission, money, refused, met }: Asked): Offer {
  const variant_id = identifier(offer.id);
  if (variant_id === null) throw new WrongShape('a variant in a timeslot has no usable id');
  const sent = offer.price_mediation;
  const prices = isMembers(sent) ? sent : noPrices;
  const ours = offer.currency === undefined || offer.currency === currency;
  if (ours) met.ours += 1;
  else met.foreign = String(offer.currency).slice(0, 3);
  const read = ours ? amountsOf(prices, money) : noAmounts;
  // A negative price is rejected with all its parts, and what it belongs to is not sold.
  const belowZero = (read[0] ?? 0) < 0;
  if (belowZero) refused.prices += 1;
  const amounts = belowZero ? noAmounts : read;

  let extra = withOddities(extraOf(offer, knownOffer), offer, offerNumbers);
  const unplaced = unplacedPrices(prices, amounts, commission);
  if (unplaced !== null) extra = { ...extra, price_mediation: unplaced };
  if (!ours) extra = { ...extra, currency: offer.currency };
  if (prices === noPrices && sent != null) extra = { ...extra, price_mediation: sent };
  const most = integer(offer.max_tickets) ?? integer(offer.max_orders);
  if (belowZero && most !== null) extra = { ...extra, max_tickets: most };
  const tickets = belowZero ? 0 : most;
  const [retail, value, fee, paid] = amounts;
  const restriction = integer(offer.pricing_restriction);
  const row = [variant_id, tickets, retail, value, fee, commission ? paid : null, restriction, extra];
  return trimmed(row) as readonly unknown[] as Offer;
}

function amountsOf(prices: Members, money: Asked['money']): Amounts {
  return [
    money(prices.total_retail_price_incl_vat),
    money(prices.sale_ticket_value_incl_vat),
    money(prices.booking_fee_incl_vat),
    money(prices.distributor_commission_excl_vat),
  ];
}

/** Prices that have no place in the columns: unknown members, another currency, finer than the minor unit. */
function unplacedPrices(prices: Members, amounts: Amounts, commission: boolean): Extra {
  let unplaced = extraOf(prices, knownPrices);
  for (const [index, name] of placedPrices) {
    if (amounts[index] !== null || prices[name] == null || (index === 3 && !commission)) continue;
    unplaced = { ...unplaced, [name]: prices[name] };
  }
  return unplaced;
}

/** Members of an object that are not among the known ones, or null where there are none. */
function extraOf(object: Members, known: ReadonlySet<string>): Extra {
  let extra: Record<string, unknown> | null = null;
  for (const name in object) {
    if (known.has(name) || !Object.hasOwn(object, name)) continue;
    extra ??= {};
    Object.defineProperty(extra, name, { value: object[name], enumerable: true, configurable: true, writable: true });
  }
  return extra;
}

/** Keeps known members that are no whole number, as their columns are. */
function withOddities(extra: Extra, object: Members, names: readonly string[]): Extra {
  let all = extra;
  for (const name of names) {
    if (object[name] != null && integer(object[name]) === null) all = { ...all, [name]: object[name] };
  }
  return all;
}

/** Takes the trailing nulls off a positional row. */
function trimmed(row: unknown[]): unknown[] {
  while (row.at(-1) === null) row.pop();
  return row;
}
