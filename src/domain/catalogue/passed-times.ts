import { type DayForm, type DaySummary, summarise } from './availability.ts';
import { type PrintedPrice, printedOn, samePrices } from './printed-price.ts';
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

/** What can be bought of a date from one minute of it to another. */
export interface BookableStretch extends Pick<DaySummary, 'lowest_price' | 'max_tickets'>, PrintedPrice {
  /** -1: from whenever on. */
  readonly from: number;
  /** The first minute at which it can no longer: 1440 is the end of the date. */
  readonly until: number;
}

/**
 * The stretches of a date in which something can be bought, each with what is left then. `whole` gives one alone, up to the
 * first time: for a date that is still far, of which the others are not needed yet.
 */
export function bookableStretches(
  form: DayForm,
  types: VariantTypes,
  detail: 'whole' | 'stretches' = 'stretches',
): BookableStretch[] {
  const times = new Set(form[2].flatMap(([time]) => (typeof time === 'number' && time >= 0 ? [time] : [])));
  const starts = [notBegun, ...[...times].sort((a, b) => a - b)];
  const stretches: BookableStretch[] = [];
  for (const [index, from] of (detail === 'whole' ? [notBegun] : starts).entries()) {
    const left = withoutPassed(form, from);
    const { available, lowest_price, max_tickets } = summarise(left);
    if (!available) continue;
    const shown = { lowest_price, max_tickets, ...printedOn(left, types) };
    const until = starts[index + 1] ?? endOfDate;
    const before = stretches.at(-1);
    const goesOn = before?.until === from && before.max_tickets === max_tickets && samePrices(before, shown);
    if (goesOn) stretches.pop();
    stretches.push({ from: goesOn ? before.from : from, until, ...shown });
  }
  return stretches;
}

const endOfDate = 24 * 60;
