import { addDays, type Dates, daysBetween, earlier } from '../time/dates.ts';
import { namesOtherDates } from './answered-span.ts';
import type { AvailabilityAnswer } from './availability.ts';

/*
 * A service may cut long answers without saying so: the dates cut off would read as sold out. No single answer shows it,
 * but one that names a late date shows that answers as long are not cut.
 */

/** How long the answers of a service are; one for all products. */
export interface AnswerLengths {
  /** Returns the last date that an answer is believed to cover. What is left of the request is asked for once more. */
  coveredTo(asked: Dates, answer: Pick<AvailabilityAnswer, 'named' | 'covered_to'>): string;
  /** Called with the answer about the rest of a request. `cut`: it is the first to show that the service cuts answers. */
  restAnswered(named: Dates | null): 'cut' | 'known' | 'empty';
  /** The most days that an answer has named so far. */
  longest(): number;
}

/** A shorter end without tickets is usual, and not asked about where nothing shows that answers are cut. */
const shortestRestDays = 7;
/** So many rests without any tickets show that requests merely reach beyond what is sold. */
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
