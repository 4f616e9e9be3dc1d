import { addDays, isDate, weekdayOf } from '../../kernel/time/venue.ts';

const dayMs = 86_400_000;

/** Time that a report is about, in whole UTC days. The last of them may not be over. */
export interface Week {
  /** Name for people: `2026-W46`, or `last 7 days`. */
  readonly name: string;
  readonly from: number;
  /** Excluded. */
  readonly to: number;
}

/** Returns today until now, and the six days before it. */
export function lastSevenDays(now: number): Week {
  return { name: 'last 7 days', from: (Math.floor(now / dayMs) - 6) * dayMs, to: now };
}

/** Returns the week before, of the same length. */
export function weekBefore({ from, to }: Week): Week {
  return { name: 'the week before', from: from - 7 * dayMs, to: to - 7 * dayMs };
}

/**
 * Returns a week by its name in ISO 8601: `2026-W46` begins on a Monday, and the first week of a year is the one with
 * its first Thursday. `no-week`: the calendar has no week of this name. `not-begun`: it lies in the future.
 */
export function weekNamed(name: string, now: number): Week | 'no-week' | 'not-begun' {
  const [, year, week] = /^(\d{4})-?W(\d{2})$/i.exec(name) ?? [];
  if (year === undefined || week === undefined || !isDate(`${year}-01-04`)) return 'no-week';
  const january4 = `${year}-01-04`;
  const monday = addDays(january4, 7 * (Number(week) - 1) - weekdayOf(january4));
  // The Thursday of a week decides which year it belongs to.
  if (Number(week) < 1 || addDays(monday, 3).slice(0, 4) !== year) return 'no-week';
  const from = Date.parse(monday);
  if (from > now) return 'not-begun';
  return { name: `${year}-W${week}`, from, to: Math.min(from + 7 * dayMs, now) };
}

/** Returns the numbers of the first and the last UTC day, both included, under which daily counts are stored. */
export function daysOf(from: number, to: number): { readonly first: number; readonly last: number } {
  return { first: Math.floor(from / dayMs), last: Math.floor((to - 1) / dayMs) };
}
