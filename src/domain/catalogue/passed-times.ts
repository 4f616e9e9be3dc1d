import { addSlot, type DayForm, type DaySummary, type OpenSummary, soldOut } from './availability.ts';
import { nothingPrinted, type PrintedPrice, printing, samePrices } from './printed-price.ts';
import type { VariantTypes } from './variant.ts';

/*
 * What of a date can still be had: a time that has begun at the venue is not sold any more. Times are the venue's, in
 * minutes since midnight; whatever is no time of the clock (the whole day, a word of the service) lasts until the date ends.
 */

/** Before any time of a date: it has not begun at the venue. */
export const notBegun = -1;

/** Whether a time has passed at a minute of its date. */
export function hasPassed(time: number | string, minute: number): boolean {
  return typeof time === 'number' && time >= 0 && time <= minute;
}

/** `HH:MM` in minutes since midnight; null: it is no time of the clock. */
export function minuteOf(time: string): number | null {
  return /^\d\d:\d\d$/.test(time) ? Number(time.slice(0, 2)) * 60 + Number(time.slice(3)) : null;
}

/** A date without the times that have passed, and its places without theirs; the same object where none has. */
export function withoutPassed(form: DayForm, minute: number): DayForm {
  const [availability, timezone, slots, ...rest] = form;
  const left = slots.filter(([time]) => !hasPassed(time, minute));
  if (left.length === slots.length) return form;
  const places = left.flatMap(([, each]) => (each === null ? [] : [each]));
  const sum = places.length === 0 ? null : places.reduce((total, each) => total + each, 0);
  return [availability === 0 ? 0 : sum, timezone, left, ...rest];
}

/** The times of a date that can still be had; undefined: there is none, as where it is sold out. */
export function timesLeft(form: DayForm | undefined, minute: number): DayForm | undefined {
  const left = form === undefined ? undefined : withoutPassed(form, minute);
  return left === undefined || left[2].length === 0 ? undefined : left;
}

/** State of a date, as views show it. */
export type DateState = 'available' | 'sold_out' | 'not_on_sale';

/** State, prices and tickets of a date from one minute to another. */
export interface DateStretch extends Omit<DaySummary, 'available'>, PrintedPrice {
  readonly state: DateState;
  /** -1: from the day on which it was first sold. */
  readonly from: number;
  /** Excluded; 1440 is the end of the date. */
  readonly until: number;
  /** Until when `availability` holds, excluded: later in the stretch it is the places of the times that are left. */
  readonly counted_until: number;
}

/**
 * Divides a date where its times begin: each stretch has what is left then, and after the last time nothing is on sale. An
 * undefined form is a date without tickets. The times are added from the last one back to the first. A time that takes only
 * places along begins no stretch, so there are few of them.
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
    // Once a time has begun, the places of the others are the date's.
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

/** Returns the first minute at which a time is not sold any more. */
export function endOf(time: number | string): number {
  return typeof time === 'number' && time >= 0 ? time : endOfDate;
}

const endOfDate = 24 * 60;
