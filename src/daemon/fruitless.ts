import { type Clock, dayMs } from '../kernel/clock.ts';
import type { Inbox } from '../receiver/inbox.ts';
import type { SearchQuestion } from '../storefront/reader.ts';
import { fruitlessWords, type SearchAnswer, wordsADay } from '../storefront/search/fruitless.rules.ts';

/** Counts searches without results in memory, and writes the counts together. A kill loses one minute of counts. */
export interface FruitlessSearches {
  note(question: SearchQuestion, found: SearchAnswer): void;
  /** Writes the counts since the last flush. */
  flush(): void;
}

export function fruitlessSearches(inbox: Inbox, clock: Clock): FruitlessSearches {
  const waiting = new Map<string, number>();
  return {
    note: ({ text }, found) => {
      const words = fruitlessWords(text, found);
      if (words !== null && (waiting.has(words) || waiting.size < wordsADay))
        waiting.set(words, (waiting.get(words) ?? 0) + 1);
    },
    flush: () => {
      if (waiting.size === 0) return;
      inbox.searches.add(Math.floor(clock.now() / dayMs), waiting, wordsADay);
      waiting.clear();
    },
  };
}
