import type { VariantTypes } from '../catalogue/variant.rules.ts';
import { addSlot, type DayForm, type DaySummary, type OpenSummary, soldOut } from './availability.rules.ts';
import { nothingPrinted, type PrintedPrice, printing, samePrices } from './printed-price.rules.ts';

/*
 * Removes from a date the times that have begun at the venue, which are no longer sold. Times are the venue's, in
 * minutes since midnight. A time that is not on the clock (the whole day, a word of the service) lasts until the date
 * ends.
 */

/** Minute before any time of a date: the date has not begun at the venue. */
export const notBegun = -1;

/** Returns whether a time has passed at a minute of its date. */
export function hasPassed(time: number | string, minute: number): boolean {
  return typeof time === 'number' && time >= 0 && time <= minute;
}

/** Returns `HH:MM` as minutes since midnight; null if it is not a time of the clock. */
export function minuteOf(time: string): number | null {
  return /^\d\d:\d\d$/.test(time) ? Number(time.slice(0, 2)) * 60 + Number(time.slice(3)) : null;
}

/**
 * Returns a date without the times that have passed, and its availability without theirs. Returns the same object if
 * none has passed.
 */
export function withoutPassed(form: DayForm, minute: number): DayForm {
  const [availability, timezone, slots, ...rest] = form;
  const left = slots.filter(([time]) => !hasPassed(time, minute));
  if (left.length === slots.length) return form;
  const places = left.flatMap(([, each]) => (each === null ? [] : [each]));
  const sum = places.length === 0 ? null : places.reduce((total, each) => total + each, 0);
  return [availability === 0 ? 0 : sum, timezone, left, ...rest];
}

/** Returns the times of a date that can still be bought; undefined if there are none, for example if it is sold out. */
export function timesLeft(form: DayForm | undefined, minute: number): DayForm | undefined {
  const left = form === undefined ? undefined : withoutPassed(form, minute);
  return left === undefined || left[2].length === 0 ? undefined : left;
}

/** State of a date, as views show it. */
export type DateState = 'available' | 'sold_out' | 'not_on_sale';

/** State, prices and tickets of a date from one minute to another. */
export interface DateStretch extends Omit<DaySummary, 'available'>, PrintedPrice {
  readonly state: DateState;
  /** -1: since it was first sold, on any earlier day. */
  readonly from: number;
  /** Excluded; 1440 is the end of the date. */
  readonly until: number;
  /**
   * Excluded end of the time for which `availability` holds. Later in the stretch it is the sum over the times that are
   * left.
   */
  readonly counted_until: number;
}

/**
 * Divides a date at the beginnings of its times. Each stretch has what is left then; after the last time nothing is on
 * sale. An undefined form is a date without tickets. The times are added from the last one back to the first. A time
 * whose passing changes only the availability begins no stretch, so there are few of them.
 */
export function stretchesOf(form: DayForm | undefined, types: VariantTypes): DateStretch[] {
  const [availability = null, , slots = []] = form ?? [];
  const latestFirst = slots.toSorted(([a], [b]) => endOf(b) - endOf(a));
  const last = latestFirst[0] === undefined ? notBegun : endOf(latestFirst[0][0]);
  const stretches: DateStretch[] = [];
  const add = (piece: Omit<DateStretch, 'counted_until'>) => {
    const stretch = { ...piece, counted_until: piece.until };
    const after = stretches.at(-1);
    if (after?.from !== stretch.until || !shownAlike(after, stretch)) {
      stretches.push(stretch);
      return;
    }
    const counted_until = after.availability === stretch.availability ? after.counted_until : stretch.until;
    stretches[stretches.length - 1] = { ...stretch, until: after.until, counted_until };
  };
  const nothing = { ...nothingPrinted, lowest_price: null };
  const state = last === notBegun ? 'sold_out' : 'not_on_sale';
  const none = last === notBegun || availability === 0 ? availability : null;
  if (last < endOfDate) add({ from: last, until: endOfDate, state, ...nothing, max_tickets: null, availability: none });
  const left: OpenSummary = { ...soldOut, availability };
  const print = printing(types);
  let places: number | null = null;
  for (const [index, slot] of latestFirst.entries()) {
    addSlot(left, slot);
    print.add(slot);
    if (slot[1] !== null) places = (places ?? 0) + slot[1];
    const until = endOf(slot[0]);
    const next = latestFirst[index + 1];
    const from = next === undefined ? notBegun : endOf(next[0]);
    if (from === until) continue;
    // Once a time has begun, the availability of the date is the sum over the other times.
    const of_date = from === notBegun || availability === 0 ? availability : places;
    const sold = left.available && of_date !== 0;
    const prices = sold ? { lowest_price: left.lowest_price, ...print.price() } : nothing;
    const { max_tickets } = left;
    add({ from, until, state: sold ? 'available' : 'sold_out', ...prices, max_tickets, availability: of_date });
  }
  return stretches.reverse();
}

function shownAlike(one: DateStretch, other: DateStretch): boolean {
  const { state, max_tickets } = other;
  return one.state === state && one.max_tickets === max_tickets && samePrices(one, other);
}

/** Returns the first minute at which a time is no longer sold. */
export function endOf(time: number | string): number {
  return typeof time === 'number' && time >= 0 ? time : endOfDate;
}

/** Minute at which a date ends, and a time that is not on the clock. */
export const endOfDate = 24 * 60;
