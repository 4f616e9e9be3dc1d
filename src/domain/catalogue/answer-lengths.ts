import { addDays, type Dates, daysBetween, earlier } from '../time/dates.ts';
import { namesOtherDates } from './answered-span.ts';
import type { AnsweredDates } from './availability.ts';

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
