import { addDays, type Dates, earlier } from '../time/dates.ts';
import type { AnswerLengths } from './answer-lengths.ts';
import {
  answeredSpan,
  inCommon,
  leftOf,
  mostCallsForLeftOut,
  namesOtherDates,
  type SpanTrust,
  sameDates,
  trustAfter,
  wholeWeeksAround,
} from './answered-span.ts';
import type { AvailabilityAnswer } from './availability.ts';

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
