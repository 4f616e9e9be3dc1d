import type { Variant, VariantGroup } from '../catalogue/variant.rules.ts';
import type { Dates } from '../kernel/time/venue.ts';
import { isMembers, type Members } from '../kernel/values/exact-json.ts';
import type { Examples } from '../service/shapes.rules.ts';
import type { PricePair } from './converted-price.rules.ts';

/*
 * The compact form of one date, which the mirror also stores: positional, money in minor units, times in minutes since
 * midnight. `extra` keeps every member that has no place of its own. Trailing nulls are left off.
 */

/** Members without a place in the compact form, as the service sent them; null: none. */
export type Extra = Readonly<Record<string, unknown>> | null;

/** One variant in one timeslot, with its prices in minor units: null if not sent or not exact. */
export type Offer = readonly [
  variant_id: number,
  max_tickets?: number | null,
  retail_price?: number | null,
  ticket_value?: number | null,
  booking_fee?: number | null,
  commission?: number | null,
  pricing_restriction?: number | null,
  extra?: Extra,
];

/** One timeslot: minutes since midnight, -1 for the whole day, or the service's own word if it is neither. */
export type Timeslot = readonly [
  time: number | string,
  availability: number | null,
  offers: readonly Offer[],
  extra?: Extra,
];

/** Returns whether a count was sent, under one of these names, and cannot be read. */
export function isUncounted(count: number | null | undefined, extra: Extra | undefined, ...names: string[]): boolean {
  return count == null && extra != null && names.some((name) => extra[name] != null);
}

/** Returns whether a retail price was sent, and cannot be read in the currency of the answer. */
export function isUnpriced(price: number | null | undefined, extra: Extra | undefined): boolean {
  if (price != null || extra == null) return false;
  const { price_mediation: sent, currency } = extra;
  return currency != null || (sent != null && !(isMembers(sent) && sent.total_retail_price_incl_vat == null));
}

/** Time of a slot that is for the whole date. */
export const wholeDay = -1;

/** Printed times by minute of the day, cached because they repeat. */
const printedTimes: string[] = [];

/** Returns the time of a slot as views and people read it: `HH:MM`, `whole_day`, or the service's own word. */
export function slotTime(time: number | string): string {
  if (typeof time === 'string') return time;
  if (time < 0) return 'whole_day';
  const known = printedTimes[time];
  if (known !== undefined) return known;
  const printed = `${String(Math.floor(time / 60)).padStart(2, '0')}:${String(time % 60).padStart(2, '0')}`;
  printedTimes[time] = printed;
  return printed;
}

/** One date of a product. */
export type DayForm = readonly [
  availability: number | null,
  timezone: string | null,
  timeslots: readonly Timeslot[],
  extra?: Extra,
];

/** Dates that an answer of the availability read is about. */
export interface AnsweredDates {
  /** The last date that the answer covers: earlier than requested if the service capped the range. */
  readonly covered_to: string;
  /** First and last date that the answer names, requested or not; null if it names none. */
  readonly named: Dates | null;
  /** The requested dates. Only dates with tickets are in the answer: a covered date that is absent is sold out. */
  readonly days: ReadonlyMap<string, DayForm>;
}

/** One answer of the availability read. */
export interface AvailabilityAnswer extends AnsweredDates {
  /**
   * False: the product is not on sale, and the answer contains nothing about dates. Null:
   * the answer leaves it out, and so contains nothing about dates either.
   */
  readonly sales_enabled: boolean | null;
  readonly max_tickets_per_order: number | null;
  readonly variants: readonly Variant[];
  /** Names of the groups of its variants. */
  readonly groups: readonly VariantGroup[];
  /** The rest of the answer, which is not stored: groups as they were sent, and unknown members. */
  readonly rest: Members;
  /** Dates of which some count cannot be read: they are stale, and checked before a sale. */
  readonly uncounted?: ReadonlySet<string>;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}

/** The summary of a date for a calendar, without its slots. */
export interface DaySummary {
  readonly available: boolean;
  /** The lowest retail price above 0, or 0 if all known prices are 0; null if none is known. */
  readonly lowest_price: number | null;
  /** Most tickets left of one variant in one slot; null if no slot states a number. */
  readonly max_tickets: number | null;
  readonly availability: number | null;
}

export const soldOut: DaySummary = { available: false, lowest_price: null, max_tickets: null, availability: null };

/**
 * Returns the summary of a date. It is available if some slot has a variant that can be bought, that is, if neither the
 * slot's nor the variant's maximum is 0. Only those count for the price.
 */
export function summarise([availability, , timeslots]: DayForm): DaySummary {
  const summary = { ...soldOut, availability };
  for (const slot of timeslots) addSlot(summary, slot);
  return summary;
}

/** A summary to which slots are still added. */
export type OpenSummary = { -readonly [Name in keyof DaySummary]: DaySummary[Name] };

/** Adds one more slot. If the whole date has no availability, none of its slots can be bought. */
export function addSlot(summary: OpenSummary, [, places, offers]: Timeslot): void {
  for (const [, tickets = null, price = null] of offers) {
    if (tickets !== null) summary.max_tickets = Math.max(summary.max_tickets ?? 0, tickets);
    if (summary.availability === 0 || places === 0 || tickets === 0) continue;
    summary.available = true;
    if (price !== null && price >= 0) summary.lowest_price = lower(summary.lowest_price, price);
  }
}

/** Returns whether two dates differ in anything that views show, except tickets left: times, variants or prices. */
export function otherOffers(before: DayForm | undefined, after: DayForm | undefined): boolean {
  return differ(before, after, 0);
}

/**
 * Returns whether a shopper would notice the difference between two dates: availability, times, variants, prices, or
 * numbers of tickets left, which are compared up to the number that one may order (`most`; null if the service names no
 * limit).
 */
export function isNoticed(before: DayForm | undefined, after: DayForm | undefined, most: number | null): boolean {
  return isAvailable(before) !== isAvailable(after) || differ(before, after, most ?? Number.POSITIVE_INFINITY);
}

/** Returns the prices of two dates that differ in nothing else; null: they differ in more, or there are none. */
export function pricePairs(
  before: DayForm | undefined,
  after: DayForm | undefined,
  most: number | null,
): PricePair[] | null {
  if (before === undefined || after === undefined || isAvailable(before) !== isAvailable(after)) return null;
  if (differ(before, after, most ?? Number.POSITIVE_INFINITY, [restriction])) return null;
  const pairs: PricePair[] = [];
  for (const [index, slot] of before[2].entries())
    for (const [place, offer] of slot[2].entries()) {
      const its = after[2][index]?.[2][place];
      for (const amount of amounts) {
        const [was, is] = [offer[amount] ?? null, its?.[amount] ?? null];
        if (was !== null && is !== null) pairs.push([was, is]);
        else if (was !== is) return null;
      }
    }
  return pairs.length === 0 ? null : pairs;
}

function isAvailable(form: DayForm | undefined): boolean {
  return form !== undefined && summarise(form).available;
}

/** Compares what views show. Numbers of tickets are compared up to `most`. */
function differ(
  before: DayForm | undefined,
  after: DayForm | undefined,
  most: number,
  places: readonly (typeof shownPrices)[number][] = shownPrices,
): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return differIn(before[2], after[2], (slot, other) => {
    if (slot[0] !== other[0] || upTo(most, slot[1]) !== upTo(most, other[1])) return true;
    return differIn(slot[2], other[2], (offer, its) => {
      if (offer[0] !== its[0] || upTo(most, offer[1]) !== upTo(most, its[1])) return true;
      return places.some((place) => (offer[place] ?? null) !== (its[place] ?? null));
    });
  });
}

/** Places of the prices and of the pricing restriction in an `Offer`. */
const [amounts, restriction] = [[2, 3, 4, 5], 6] as const;
const shownPrices = [...amounts, restriction] as const;

function differIn<Item>(
  items: readonly Item[],
  others: readonly Item[],
  differs: (item: Item, other: Item) => boolean,
): boolean {
  return items.length !== others.length || items.some((item, index) => differs(item, others[index] as Item));
}

function upTo(most: number, count: number | null | undefined): number | null {
  return count == null ? null : Math.min(count, most);
}

/** Returns the lower of two prices; if one of them is 0, the other. */
export function lower(lowest: number | null, price: number): number {
  if (lowest === null || lowest === 0) return price;
  return price === 0 ? lowest : Math.min(lowest, price);
}

/**
 * A span of availability dates with a cadence of its own. It is not the lane or the held subject of the same name: these
 * distinguish the first window of a product from its later ones.
 */
export type Tier = 'near' | 'middle' | 'far';

/** Tiers of availability dates, counted in days from the venue's today. */
export interface Tiers {
  readonly horizon: number;
  readonly near: { readonly days: number; readonly every: number };
  readonly middle: { readonly days: number; readonly every: number };
  readonly far: { readonly every: number };
  /** Dates beyond the far ones; left out, or with a cadence of null: the far ones reach to the horizon. */
  readonly beyond?: { readonly days: number; readonly every: number | null };
}

/** One availability request: days from the venue's today, both included, and the tightest cadence among its dates. */
export interface Window {
  readonly part: number;
  readonly first_day: number;
  readonly last_day: number;
  readonly every: number;
  /** Set if it begins beyond the far dates. */
  readonly beyond?: true;
}

/**
 * Returns the fewest windows of at most `daysPerRequest` days that cover the horizon. A window that spans two tiers has
 * the cadence of the nearer one.
 */
export function windows(tiers: Tiers, daysPerRequest: number): Window[] {
  const count = Math.ceil(tiers.horizon / daysPerRequest);
  return Array.from({ length: count }, (_, part) => {
    const first_day = part * daysPerRequest;
    const last_day = Math.min(first_day + daysPerRequest, tiers.horizon) - 1;
    const beyond = isBeyond(tiers, first_day) ? ({ beyond: true } as const) : {};
    return { part, first_day, last_day, every: cadenceOfDay(tiers, first_day), ...beyond };
  });
}

/** Returns the cadence of the date that lies `day` days after the venue's today. */
export function cadenceOfDay(tiers: Tiers, day: number): number {
  const { beyond } = tiers;
  if (beyond != null && beyond.every !== null && isBeyond(tiers, day)) return beyond.every;
  return tiers[tierOfDay(tiers, day)].every;
}

/** Returns the first day beyond the far dates; infinite: there is none within the horizon. */
export function beyondFrom({ beyond, horizon }: Tiers): number {
  return beyond === undefined || beyond.every === null || beyond.days >= horizon
    ? Number.POSITIVE_INFINITY
    : beyond.days;
}

function isBeyond(tiers: Tiers, day: number): boolean {
  return day >= beyondFrom(tiers);
}

/** Returns the tier of the date that lies `day` days after the venue's today. What is beyond the far dates counts as far. */
export function tierOfDay(tiers: Tiers, day: number): Tier {
  if (day < tiers.near.days) return 'near';
  return day < tiers.middle.days ? 'middle' : 'far';
}

/**
 * Returns the first day of each tier, in days from today. Spans of dates are split there, because each tier has its own
 * cadence.
 */
export function tierStarts(tiers: Tiers): number[] {
  return [0, tiers.near.days, tiers.middle.days, beyondFrom(tiers)].filter((day) => day < tiers.horizon);
}
