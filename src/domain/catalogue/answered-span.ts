import { addDays, type Dates, earlier, later, weekdayOf } from '../time/dates.ts';
import type { AnsweredDates } from './availability.ts';

/*
 * Decides which dates an availability answer covers. A sold-out date is simply absent from an answer, so an answer for
 * other dates than requested must never count as one about the requested dates.
 */

/**
 * Extent to which an answer is taken to cover the request: completely (`as-asked`); only if whole weeks were requested,
 * for a service that seems to round to weeks (`whole-weeks`); or only from the first to the last date that the answer
 * names, for a service that has answered for other dates (`own-dates-only`).
 */
export type SpanTrust = 'as-asked' | 'whole-weeks' | 'own-dates-only';

/**
 * Returns the dates that an answer covers: all requested ones, up to the date at which the service capped it. If it
 * names any other date, it is unknown how the service understood the request, so only the dates from the first to the
 * last that it names count. Null if it covers none.
 */
export function answeredSpan(asked: Dates, { named, covered_to, days }: AnsweredDates, trust: SpanTrust): Dates | null {
  const all = { from: asked.from, to: covered_to };
  if (named === null) return trust === 'as-asked' ? all : null;
  if (!namesOtherDates(asked, named) && trust !== 'own-dates-only') return all;
  return days.size === 0 ? null : inCommon(all, named);
}

/** Returns how far to trust a service that has named other dates than requested. */
export function trustAfter(asked: Dates, named: Dates): SpanTrust {
  const weeks = { from: mondayOf(asked.from), to: addDays(mondayOf(asked.to), 6) };
  return namesOtherDates(weeks, named) ? 'own-dates-only' : 'whole-weeks';
}

/** Returns whether two answers name the same dates, which shows that the service ignores the requested ones. */
export function sameDates(one: Dates | null, other: Dates | null): boolean {
  return one !== null && other !== null && one.from === other.from && one.to === other.to;
}

/** Returns whether an answer names dates that were not requested. */
export function namesOtherDates(asked: Dates, named: Dates | null): boolean {
  return named !== null && (named.from < asked.from || named.to > asked.to);
}

/** Returns the dates that two spans have in common; null if none. */
export function inCommon(one: Dates, other: Dates): Dates | null {
  const [from, to] = [later(one.from, other.from), earlier(one.to, other.to)];
  return from <= to ? { from, to } : null;
}

/** Returns the requested dates before and after the answered ones. */
export function leftOf({ from, to }: Dates, answered: Dates | null): Dates[] {
  if (answered === null) return [{ from, to }];
  const before = { from, to: addDays(answered.from, -1) };
  const after = { from: addDays(answered.to, 1), to };
  return [before, after].filter((dates) => dates.from <= dates.to);
}

/**
 * Returns the dates to request for those that an answer left out. They are whole weeks that start on a Monday, because
 * a service that rounds to weeks answers exactly these, with further days around them, so that an answer for yet other
 * dates is noticed. At most `most` days.
 */
export function wholeWeeksAround(left: Dates, today: string, most: number): Dates {
  const weeks = Math.floor(most / 7);
  if (weeks === 0) return { from: left.from, to: earlier(addDays(left.from, most - 1), left.to) };
  const from = later(mondayOf(today), addDays(mondayOf(left.from), weeks > 1 ? -7 : 0));
  return { from, to: addDays(from, 7 * weeks - 1) };
}

/**
 * Most calls of one refresh for dates that answers left out: a service that never answers a date is not asked forever.
 */
export const mostCallsForLeftOut = 4;

/**
 * Number of products with answers for other dates at once from which the service or a cache is at fault, not a single
 * product.
 */
export const otherDatesMany = 5;

function mondayOf(date: string): string {
  return addDays(date, -weekdayOf(date));
}
