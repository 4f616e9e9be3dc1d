import { addDays, type Dates, earlier, later, weekdayOf } from '../time/dates.ts';
import type { AvailabilityAnswer } from './availability.ts';

/*
 * Which dates an answer of availability speaks of. A sold-out date is simply absent from an answer, so an answer for other
 * dates than were asked for must never count as one about these.
 */

/**
 * What is believed of an answer: that it is about what was asked for; that it is where whole weeks were asked for, of a
 * service that seems to round to them; or only its own first to its own last date, of one that has answered for others.
 */
export type SpanTrust = 'as-asked' | 'whole-weeks' | 'own-dates-only';

type Answer = Pick<AvailabilityAnswer, 'named' | 'covered_to' | 'days'>;

/**
 * The dates that an answer speaks of: all that were asked for, up to where the service capped it. Where it names any date
 * besides, it is not known what the service made of the question: then only from its own first to its own last date. Null: none.
 */
export function answeredSpan(asked: Dates, { named, covered_to, days }: Answer, trust: SpanTrust): Dates | null {
  const all = { from: asked.from, to: covered_to };
  if (named === null) return trust === 'as-asked' ? all : null;
  if (!namesOtherDates(asked, named) && trust !== 'own-dates-only') return all;
  return days.size === 0 ? null : inCommon(all, named);
}

/** What is believed of a service that has named other dates than were asked for. */
export function trustAfter(asked: Dates, named: Dates): SpanTrust {
  const weeks = { from: mondayOf(asked.from), to: addDays(mondayOf(asked.to), 6) };
  return namesOtherDates(weeks, named) ? 'own-dates-only' : 'whole-weeks';
}

/** Whether two answers name the same dates: the service does not look at what it is asked for. */
export function sameDates(one: Dates | null, other: Dates | null): boolean {
  return one !== null && other !== null && one.from === other.from && one.to === other.to;
}

/** Whether an answer names dates that were not asked for. */
export function namesOtherDates(asked: Dates, named: Dates | null): boolean {
  return named !== null && (named.from < asked.from || named.to > asked.to);
}

/** The dates that two spans have in common; null: none. */
export function inCommon(one: Dates, other: Dates): Dates | null {
  const [from, to] = [later(one.from, other.from), earlier(one.to, other.to)];
  return from <= to ? { from, to } : null;
}

/** What is left of the dates that were asked for before and after those that were answered. */
export function leftOf({ from, to }: Dates, answered: Dates | null): Dates[] {
  if (answered === null) return [{ from, to }];
  const before = { from, to: addDays(answered.from, -1) };
  const after = { from: addDays(answered.to, 1), to };
  return [before, after].filter((dates) => dates.from <= dates.to);
}

/**
 * How to ask for what an answer left out: by whole weeks from a Monday on, because a service that rounds to them answers
 * exactly that, and with days around it, so that an answer for yet other dates shows. At most `most` days.
 */
export function wholeWeeksAround(left: Dates, today: string, most: number): Dates {
  const weeks = Math.floor(most / 7);
  if (weeks === 0) return { from: left.from, to: earlier(addDays(left.from, most - 1), left.to) };
  const from = later(mondayOf(today), addDays(mondayOf(left.from), weeks > 1 ? -7 : 0));
  return { from, to: addDays(from, 7 * weeks - 1) };
}

/** So many calls of one refresh are for what answers left out: a service that never speaks of a date is not asked for ever. */
export const mostCallsForTheRest = 4;

/** So many products at once are answered for other dates only by the service or a cache in between, and not by one product's mistake. */
export const otherDatesAlarm = 5;

function mondayOf(date: string): string {
  return addDays(date, -weekdayOf(date));
}
