import { addDays, type Dates, daysBetween, earlier, later, weekdayOf } from '../kernel/time/venue.ts';
import type { AnsweredDates, AvailabilityAnswer } from './availability.rules.ts';

/**
 * Dates that are still to be requested: `due` ones, those `beyond-cut` (after the end of a cut answer), or those that an
 * answer has `left-out`.
 */
interface Wanted extends Dates {
  readonly why: 'due' | 'beyond-cut' | 'left-out';
}

/** One request, for wanted dates and perhaps for days around them. */
export interface WindowRequest {
  readonly wanted: Wanted;
  readonly asked: Dates;
}

/** Dates that an answer covers: none of the requested ones, not even the first (`capped-away`), or some. */
export type Covered =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'capped-away'; readonly to: string }
  | {
      readonly kind: 'some';
      readonly dates: Dates;
      /** Dates of this request that are still to be requested, for any reason. */
      readonly still: readonly Wanted[];
      /** True: the service is taken to answer for the requested dates. */
      readonly asAsked: boolean;
    };

/** Requests of one refresh of a window: decides which dates are requested next, and which ones each answer covers. */
export interface WindowRequests {
  /** Returns the next request. Null if no dates are left, or only dates that do not justify another call. */
  next(): WindowRequest | null;
  /** Records that there was no answer. Returns `failed` for a first request: then the whole refresh has failed. */
  noAnswer(request: WindowRequest): 'failed' | 'left-out';
  /** Judges an answer. `answer` is null if it equals the one that was stored last. */
  judge(request: WindowRequest, answer: AvailabilityAnswer | null): Covered;
  /** Records that the covered dates are stored. */
  stored(still: readonly Wanted[]): void;
  /** Returns whether storing the covered dates ends the refresh with every date answered. */
  endsWith(still: readonly Wanted[]): boolean;
  /** Dates that no answer covered, after all requests. */
  readonly unanswered: readonly Dates[];
  /** Returns the dates named by the last wrong-range answer; null if there was none. */
  astray(): Dates | null;
}

interface Asking {
  /** At the venue. */
  readonly today: string;
  /** Most days of one request. */
  readonly most: number;
  readonly lengths: AnswerLengths;
}

export function windowRequests(window: Dates, { today, most, lengths }: Asking): WindowRequests {
  const wanted: Wanted[] = [{ ...window, why: 'due' }];
  const unanswered: Dates[] = [];
  let callsLeft = mostCallsForLeftOut;
  let trust: SpanTrust = 'as-asked';
  let astray: Dates | null = null;

  function learn({ wanted: { why }, asked }: WindowRequest, named: Dates | null): void {
    const elsewhere = namesOtherDates(asked, named);
    if (named !== null && elsewhere && trust === 'as-asked') trust = trustAfter(asked, named);
    if (why === 'left-out' && sameDates(named, astray)) trust = 'own-dates-only';
    if (elsewhere) astray = named;
  }

  function leaveOut({ wanted: first }: WindowRequest): void {
    if (first.why === 'left-out') unanswered.push(...wanted.splice(0, 1));
    else wanted[0] = { ...first, why: 'left-out' };
  }

  return {
    next: () => {
      const [first] = wanted;
      if (first === undefined) return null;
      if (first.why !== 'left-out')
        return { wanted: first, asked: { from: first.from, to: earlier(addDays(first.from, most - 1), first.to) } };
      if (callsLeft === 0) {
        unanswered.push(...wanted.splice(0));
        return null;
      }
      callsLeft -= 1;
      return { wanted: first, asked: wholeWeeksAround(first, today, most) };
    },
    noAnswer: (request) => {
      if (request.wanted.why !== 'left-out') return 'failed';
      leaveOut(request);
      return 'left-out';
    },
    judge: (request, answer) => {
      const { wanted: first, asked } = request;
      if (answer !== null) learn(request, answer.named);
      const covered_to = answer === null ? asked.to : lengths.coveredTo(asked, answer);
      const span = answer === null ? asked : answeredSpan(asked, { ...answer, covered_to }, trust);
      if (first.why !== 'left-out' && span !== null && span.to < asked.from)
        return { kind: 'capped-away', to: span.to };
      const dates = span === null ? null : inCommon(first, span);
      if (dates === null) {
        leaveOut(request);
        return { kind: 'nothing' };
      }
      const goesOn = first.why !== 'left-out' && trust === 'as-asked';
      const isCut = answer !== null && covered_to < answer.covered_to;
      const why = goesOn ? (isCut ? 'beyond-cut' : 'due') : 'left-out';
      const still = leftOf(first, dates).map((left): Wanted => ({ ...left, why }));
      return { kind: 'some', dates, still, asAsked: trust === 'as-asked' };
    },
    stored: (still) => {
      wanted.splice(0, 1, ...still);
    },
    endsWith: (still) => wanted.length === 1 && still.length === 0 && unanswered.length === 0,
    unanswered,
    astray: () => astray,
  };
}

/*
 * Decides which dates an availability answer covers. A sold-out date is simply absent from an answer, so an answer for
 * other dates than requested must never count as one about the requested dates.
 */

/**
 * Extent to which an answer is taken to cover the request: completely (`as-asked`); only if whole weeks were requested,
 * for a service that seems to round to weeks (`whole-weeks`); or only from the first to the last date that the answer
 * names, for a service that has answered for other dates (`own-dates-only`).
 */
type SpanTrust = 'as-asked' | 'whole-weeks' | 'own-dates-only';

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
function trustAfter(asked: Dates, named: Dates): SpanTrust {
  const weeks = { from: mondayOf(asked.from), to: addDays(mondayOf(asked.to), 6) };
  return namesOtherDates(weeks, named) ? 'own-dates-only' : 'whole-weeks';
}

/** Returns whether two answers name the same dates, which shows that the service ignores the requested ones. */
function sameDates(one: Dates | null, other: Dates | null): boolean {
  return one !== null && other !== null && one.from === other.from && one.to === other.to;
}

/** Returns whether an answer names dates that were not requested. */
export function namesOtherDates(asked: Dates, named: Dates | null): boolean {
  return named !== null && (named.from < asked.from || named.to > asked.to);
}

/** Returns the dates that two spans have in common; null if none. */
function inCommon(one: Dates, other: Dates): Dates | null {
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
const mostCallsForLeftOut = 4;

/**
 * Number of products with answers for other dates at once from which the service or a cache is at fault, not a single
 * product.
 */
export const otherDatesMany = 5;

function mondayOf(date: string): string {
  return addDays(date, -weekdayOf(date));
}

/*
 * A service may cut long answers without an announcement; the dates cut off would read as sold out. No single answer
 * shows it. But an answer that names a late date shows that answers of that length are not cut.
 */

/** Length of the answers of a service, over all products. */
export interface AnswerLengths {
  /** Returns the last date that an answer is taken to cover. The rest of the request is requested once more. */
  coveredTo(asked: Dates, answer: AnsweredDates): string;
  /**
   * Called with the dates named by the answer about the rest of a request; null if it names none. Returns `cut` for the
   * first such answer that shows that the service cuts answers, `known` for later ones, `empty` for null.
   */
  restAnswered(named: Dates | null): 'cut' | 'known' | 'empty';
  /**
   * Called with the first answer of a window, and with the last date that it covers. Returns `capped` once windows in a row
   * are answered by a small part, `whole` for the first one of this process and after such a row, else null.
   */
  windowAnswered(asked: Dates, covered_to: string): 'capped' | 'whole' | null;
  /** Returns the most days that an answer has named so far. */
  longest(): number;
}

/** A shorter end without tickets is usual. It is not requested unless answers are known to be cut. */
const shortestRestDays = 7;
/** After this many rests without tickets, requests merely reach beyond the dates that are on sale. */
const emptyRestsBelieved = 3;

/** After so many answers that name dates after the end that they give, no end is believed: each would cost a call a day. */
const wrongEndsBelieved = 3;
/** So many windows in a row of which the first answer covers less than this share; shorter requests show nothing. */
const cappedWindows = 3;
const smallShare = 1 / 4;

export function answerLengths(): AnswerLengths {
  let longest = 0;
  let wrongEnds = 0;
  let cappedInARow = 0;
  let told: 'capped' | 'whole' | null = null;
  let emptyRests = 0;
  let cuts = false;
  return {
    coveredTo: (asked, { named, covered_to: end }) => {
      if (named !== null && named.to > end && !namesOtherDates(asked, named)) wrongEnds += 1;
      const covered_to = wrongEnds >= wrongEndsBelieved ? asked.to : end;
      if (named === null || namesOtherDates(asked, named)) return covered_to;
      longest = Math.max(longest, daysBetween(asked.from, named.to) + 1);
      const rest = daysBetween(asked.from, asked.to) + 1 - longest;
      if (!cuts && (rest < shortestRestDays || emptyRests >= emptyRestsBelieved)) return covered_to;
      return earlier(addDays(asked.from, longest - 1), covered_to);
    },
    restAnswered: (named) => {
      if (named === null) {
        emptyRests += 1;
        return 'empty';
      }
      const verdict = cuts ? 'known' : 'cut';
      cuts = true;
      return verdict;
    },
    windowAnswered: (asked, covered_to) => {
      const days = daysBetween(asked.from, asked.to) + 1;
      if (days < shortestRestDays) return null;
      cappedInARow = daysBetween(asked.from, covered_to) + 1 < days * smallShare ? cappedInARow + 1 : 0;
      const found = cappedInARow >= cappedWindows ? 'capped' : cappedInARow === 0 ? 'whole' : told;
      if (found === told) return null;
      told = found;
      return found;
    },
    longest: () => longest,
  };
}
