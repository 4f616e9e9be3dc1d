/* Venue dates: text of the form `YYYY-MM-DD`, counted in whole days and never converted to instants. */

/** Dates from the first to the last, both included. */
export interface Dates {
  readonly from: string;
  readonly to: string;
}

const dayMs = 86_400_000;
const calendarDate = /^\d{4}-\d{2}-\d{2}$/;

/** Returns whether a text is a date of the calendar: 2026-02-29 is not. */
export function isDate(text: unknown): text is string {
  return typeof text === 'string' && calendarDate.test(text) && toDate(dayNumber(text)) === text;
}

/** Returns the date that lies `days` after another. */
export function addDays(date: string, days: number): string {
  return toDate(dayNumber(date) + days);
}

/** Returns how many days `to` lies after `from`. */
export function daysBetween(from: string, to: string): number {
  return dayNumber(to) - dayNumber(from);
}

/** Returns the day of the week: 0 is Monday. */
export function weekdayOf(date: string): number {
  return (((dayNumber(date) + 3) % 7) + 7) % 7;
}

/** Returns every date from `from` to `to`, both included; none if `to` lies before `from`. */
export function datesBetween(from: string, to: string): string[] {
  const first = dayNumber(from);
  const length = Math.max(0, dayNumber(to) - first + 1);
  return Array.from({ length }, (_, index) => toDate(first + index));
}

/** Return the earlier, and the later of two dates. */
export function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

export function later(a: string, b: string): string {
  return a > b ? a : b;
}

function dayNumber(date: string): number {
  return Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1, Number(date.slice(8, 10))) / dayMs;
}

/**
 * Cache of printed dates: the dates of a year are needed again and again, and printing one takes longer than a lookup.
 */
const printed = new Map<number, string>();

function toDate(day: number): string {
  const known = printed.get(day);
  if (known !== undefined) return known;
  if (printed.size > 4000) printed.clear();
  const date = new Date(day * dayMs).toISOString().slice(0, 10);
  printed.set(day, date);
  return date;
}
