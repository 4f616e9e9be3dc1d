import {
  type AvailabilityAnswer,
  type DayForm,
  type Extra,
  type Offer,
  slotTime,
  type Timeslot,
} from '../dates/availability.rules.ts';
import { addDays, datesBetween, earlier, isDate, later, offsetOn } from '../kernel/time/venue.ts';
import { isMembers, type Members } from '../kernel/values/exact-json.ts';
import type { RowAnswer } from './adapter.rules.ts';
import { decodeGroups, decodeVariants } from './decode-product.ts';
import { type AnswerContext, amountsIn, besideClock, endOfDay, noTime } from './member.rules.ts';
import {
  availabilityShape,
  dayShape,
  members,
  offerShape,
  priceShape,
  remarked,
  slotShape,
  storable,
  UnreadMembers,
  WrongShape,
} from './shapes.rules.ts';

export interface DatesWanted {
  readonly from: string;
  readonly to: string;
  /** The currency asked for: a price in any other stays out of the price columns. */
  readonly currency: string;
  /** True if the distributor's commission is mirrored (`mirror.commission`). */
  readonly commission: boolean;
}

/**
 * Decodes an availability answer (specification §2) into the compact form that the mirror stores.
 */
export function decodeAvailability({ row: answer, covers_to }: RowAnswer, question: DatesWanted): AvailabilityAnswer {
  const unread = new UnreadMembers();
  const said = availabilityShape.read(answer, unread);
  const days = new Map<string, DayForm>();
  const asked: Asked = {
    ...question,
    ours: pricesIn(amountsIn(question.currency)),
    unread,
    met: noneMet(),
    moved: new Map(),
  };
  const unlimited = unread.uncounted > 0 ? { max_tickets_per_order: storable(answer.max_tickets_per_order) } : null;
  const uncounted = new Set<string>();
  let named = null as AvailabilityAnswer['named'];
  for (const element of said.dates) {
    const before = unread.uncounted;
    const day = dayShape.read(element, unread);
    const { date } = day;
    named = { from: earlier(named?.from ?? date, date), to: later(named?.to ?? date, date) };
    if (date < question.from || date > question.to) continue;
    const form = decodeDay(members(element, 'a date'), day, unlimited, asked);
    const known = days.get(date);
    // Nobody knows which of the two is true, and the one that is wrong would be shown.
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(form))
      throw new WrongShape(`date ${date} stands twice in the answer, and differently`);
    days.set(date, form);
    if (unread.uncounted > before) uncounted.add(date);
  }
  if (asked.met.ours === 0 && asked.met.foreign !== null)
    throw new WrongShape(`asked for prices in ${question.currency}, answered in ${asked.met.foreign}`);
  const covered_to = coveredTo(covers_to, question, named);
  // The limit of an order is that of every date that the answer covers, also of those it leaves out.
  if (unlimited !== null) for (const date of datesBetween(question.from, covered_to)) uncounted.add(date);
  for (const [date, slots] of asked.moved) {
    const next = addDays(date, 1);
    if (next <= covered_to) addMidnight(days, next, slots);
    else addUnsold(days, date, slots, unread);
  }
  return {
    sales_enabled: said.sales_enabled,
    covered_to,
    named,
    max_tickets_per_order: said.max_tickets_per_order,
    days,
    variants: decodeVariants(said.variants, unread),
    groups: decodeGroups(answer.groups),
    rest: availabilityShape.rest(answer, {}) ?? {},
    ...(uncounted.size > 0 ? { uncounted } : {}),
    unread: unread.examples,
  };
}

/** Adds the slots that end the date before at 24:00 to the date that begins then. */
function addMidnight(days: Map<string, DayForm>, date: string, late: readonly LateSlot[]): void {
  const [availability = null, zone = null, others = [], ...rest] = days.get(date) ?? [];
  if (others.some(([time]) => time === 0)) return;
  days.set(date, [availability, zone, [...late.map(({ form }) => form), ...others], ...rest]);
}

/**
 * Adds slots at 24:00 to their own date, shown as they were sent and not sold: the date that begins then is another
 * answer's, which does not speak of them.
 */
function addUnsold(days: Map<string, DayForm>, date: string, late: readonly LateSlot[], unread: UnreadMembers): void {
  const [availability = null, zone = null, others = [], ...rest] = days.get(date) ?? [];
  for (const { sent } of late) unread.note(remarked('dates[].timeslots[].time', afterLast), sent.time);
  const shown = late.map(({ sent, form: [, , offers, extra = null] }) => unsold(sent, offers, extra));
  days.set(date, [availability, zone, [...others, ...shown], ...rest]);
}

const afterLast = 'after the last date of its answer';

/** Returns the last date that an answer speaks of. Of an end that cannot be read only this is known: it speaks of its own last date. */
function coveredTo(covers_to: unknown, { from, to }: DatesWanted, named: AvailabilityAnswer['named']): string {
  if (covers_to == null) return to;
  const end = isDate(covers_to) ? covers_to : (named?.to ?? addDays(from, -1));
  return earlier(end, to);
}

/** The question, and what was met in its answer so far. */
type Asked = DatesWanted & {
  readonly ours: AnswerContext;
  readonly unread: UnreadMembers;
  /** Offers in the currency asked for, and another currency that was met. */
  readonly met: ReturnType<typeof noneMet>;
  /** Slots that begin at the end of a date, by that date. */
  readonly moved: Map<string, LateSlot[]>;
};

/** A slot at 24:00: as it was sent, and as one at 00:00. */
interface LateSlot {
  readonly sent: Members;
  readonly form: Timeslot;
}

function noneMet(): { ours: number; foreign: string | null } {
  return { ours: 0, foreign: null };
}

type DayRead = ReturnType<typeof dayShape.read>;

function decodeDay(sent: Members, day: DayRead, unlimited: Extra, asked: Asked): DayForm {
  const { date, availability } = day;
  const slots = day.timeslots.map((slot) => [members(slot, 'a timeslot'), slotShape.read(slot, asked.unread)] as const);
  const timezone = slots.map(([, slot]) => slot.timezone).find((zone) => zone !== null) ?? null;
  const timeslots: Timeslot[] = [];
  const moved: LateSlot[] = [];
  for (const [own, slot] of slots) {
    if (slot.time === null) throw new WrongShape('a timeslot has no time');
    if (slot.time >= 0 && !usualTime.test(String(own.time)))
      noteContradiction(own.time, slot.time, { date, zone: slot.timezone ?? timezone }, asked);
    const form = decodeSlot(own, slot, timezone, asked);
    if (slot.time === endOfDay) moved.push({ sent: own, form });
    else timeslots.push(form);
  }
  if (moved.length > 0) asked.moved.set(date, moved);
  const rest = dayShape.rest(sent, day);
  const extra = unlimited === null ? rest : { ...rest, ...unlimited };
  return trimmed([availability, timezone, timeslots, extra]) as readonly unknown[] as DayForm;
}

const usualTime = /^\d\d:\d\d$/;

/** Notes a time whose own offset or date is another than that of its zone or of its date. */
function noteContradiction(
  sent: unknown,
  minute: number,
  { date, zone }: { readonly date: string; readonly zone: string | null },
  { unread }: Asked,
): void {
  const { date: day, offset } = besideClock(sent);
  const isElsewhere = offset !== null && zone !== null && offsetOn(zone, date, minute) !== offset;
  if (isElsewhere || (day !== null && day !== date)) unread.note('dates[].timeslots[].time', sent, true);
}

function decodeSlot(
  sent: Members,
  slot: ReturnType<typeof slotShape.read>,
  timezone: string | null,
  asked: Asked,
): Timeslot {
  const offers = slot.variants.map((offer) => decodeOffer(members(offer, 'a variant'), asked));
  let extra = slotShape.rest(sent, slot);
  if (slot.timezone !== null && slot.timezone !== timezone) extra = { ...extra, timezone: sent.timezone };
  if (slot.time !== noTime) {
    const time = slot.time === endOfDay ? 0 : (slot.time ?? noTime);
    return trimmed([time, slot.availability, offers, extra]) as readonly unknown[] as Timeslot;
  }
  // Nobody knows when it begins.
  return unsold(sent, offers, extra);
}

/** Returns a slot that is shown as it was sent, and not sold. */
function unsold({ time, availability }: Members, offers: readonly Offer[], extra: Extra): Timeslot {
  const kept = availability == null ? extra : { ...extra, availability };
  return trimmed([wordOf(time), 0, offers, kept]) as readonly unknown[] as Timeslot;
}

/** Returns a time that is none as it was sent. It must not look like a time, which readers would sell. */
function wordOf(time: unknown): string {
  const word = typeof time === 'string' ? time.trim().slice(0, 40) : JSON.stringify(time).slice(0, 40);
  return word === slotTime(-1) || usualTime.test(word) ? `"${word}"` : word;
}

const noPrices: Members = {};

/** In the order of `priceShape`. */
type Amounts = readonly [retail: Amount, value: Amount, fee: Amount, commission: Amount];
type Amount = number | null;
const noAmounts: Amounts = [null, null, null, null];
const pricesIn = (amount: AnswerContext['amount']): AnswerContext => ({ amount, mayPublish: () => false });
const foreign = pricesIn(() => null);

function decodeOffer(sent: Members, { currency, commission, ours: context, unread, met }: Asked): Offer {
  const offer = offerShape.read(sent, unread);
  const prices = isMembers(sent.price_mediation) ? sent.price_mediation : noPrices;
  const ours = sent.currency == null || offer.currency === currency;
  if (ours) met.ours += 1;
  else if (offer.currency !== null) met.foreign = offer.currency;
  const read = priceShape.read(prices, unread, ours ? context : foreign);
  const row: Amounts = [
    read.total_retail_price_incl_vat,
    read.sale_ticket_value_incl_vat,
    read.booking_fee_incl_vat,
    commission ? read.distributor_commission_excl_vat : null,
  ];
  // A negative price is rejected with all its parts, and what it belongs to is not sold.
  const isBelowZero = (row[0] ?? 0) < 0;
  const amounts = isBelowZero ? noAmounts : row;

  let extra = offerShape.rest(sent, offer);
  const unplaced = priceShape.rest(prices, isBelowZero ? noPlaces : read);
  const kept = unplaced === null || commission ? unplaced : withoutCommission(unplaced);
  if (kept !== null) extra = { ...extra, price_mediation: kept };
  if (!ours) extra = { ...extra, currency: sent.currency };
  if (isBelowZero && offer.max_tickets !== null) extra = { ...extra, max_tickets: offer.max_tickets };
  const tickets = isBelowZero ? 0 : offer.max_tickets;
  return trimmed([offer.id, tickets, ...amounts, offer.pricing_restriction, extra]) as readonly unknown[] as Offer;
}

function withoutCommission({ distributor_commission_excl_vat: _, ...prices }: Members): Members | null {
  return Object.keys(prices).length === 0 ? null : prices;
}

const noPlaces = Object.fromEntries(Object.keys(priceShape.members).map((name) => [name, null]));

/** Takes the trailing nulls off a positional row. */
function trimmed(row: unknown[]): unknown[] {
  while (row.at(-1) === null) row.pop();
  return row;
}
