import { addSlot, type DayForm, type DaySummary, type OpenSummary, soldOut } from './availability.ts';
import { type PrintedPrice, printing, samePrices } from './printed-price.ts';
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

/** What can be bought of a date from one minute of it to another. */
export interface BookableStretch extends Pick<DaySummary, 'lowest_price' | 'max_tickets'>, PrintedPrice {
  /** -1: from whenever on. */
  readonly from: number;
  /** The first minute at which it can no longer: 1440 is the end of the date. */
  readonly until: number;
}

/**
 * The stretches of a date in which something can be bought, each with what is left then. From the last time back to the first,
 * each adds its own: a price or a number of tickets that changes on the way begins another stretch, so they are few.
 */
export function bookableStretches([availability, , slots]: DayForm, types: VariantTypes): BookableStretch[] {
  const latestFirst = slots.toSorted(([a], [b]) => endOf(b) - endOf(a));
  const stretches: BookableStretch[] = [];
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
    // Once a time has passed, the places of the others are the date's.
    if (from === until || !left.available || (from !== notBegun && places === 0)) continue;
    const shown = { lowest_price: left.lowest_price, max_tickets: left.max_tickets, ...print.price() };
    const after = stretches.at(-1);
    const goesOn = after?.from === until && after.max_tickets === shown.max_tickets && samePrices(after, shown);
    if (goesOn) stretches.pop();
    stretches.push({ from, until: goesOn ? after.until : until, ...shown });
  }
  return stretches.reverse();
}

/** The first minute at which a time can no longer be had. */
function endOf(time: number | string): number {
  return typeof time === 'number' && time >= 0 ? time : endOfDate;
}

const endOfDate = 24 * 60;
