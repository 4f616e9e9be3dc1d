import { addDays, type Dates, daysBetween, earlier } from '../time/dates.ts';
import { namesOtherDates } from './answered-span.ts';
import type { AvailabilityAnswer } from './availability.ts';

/*
 * A service may cut long answers without an announcement; the dates cut off would read as sold out. No single answer
 * shows it. But an answer that names a late date shows that answers of that length are not cut.
 */

/** Length of the answers of a service, over all products. */
export interface AnswerLengths {
  /** Returns the last date that an answer is taken to cover. The rest of the request is requested once more. */
  coveredTo(asked: Dates, answer: Pick<AvailabilityAnswer, 'named' | 'covered_to'>): string;
  /**
   * Called with the dates named by the answer about the rest of a request; null if it names none. Returns `cut` for the
   * first such answer that shows that the service cuts answers, `known` for later ones, `empty` for null.
   */
  restAnswered(named: Dates | null): 'cut' | 'known' | 'empty';
  /** Returns the most days that an answer has named so far. */
  longest(): number;
}

/** A shorter end without tickets is usual. It is not requested unless answers are known to be cut. */
const shortestRestDays = 7;
/** After this many rests without tickets, requests merely reach beyond the dates that are on sale. */
const emptyRestsBelieved = 3;

export function answerLengths(): AnswerLengths {
  let longest = 0;
  let emptyRests = 0;
  let cuts = false;
  return {
    coveredTo: (asked, { named, covered_to }) => {
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
    longest: () => longest,
  };
}
