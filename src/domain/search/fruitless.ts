/** Fewer searches than these say more about a person than about a catalogue: they are not reported. */
export const fewestSearches = 5;
/** The most different words that are counted in a day: of a flood of nonsense no more is kept. */
export const wordsADay = 1000;

const longest = 60;

/** The answer to a search, as far as it says whether anything was found. */
interface Answered {
  readonly total: number;
  /** The typed words that something in the catalogue has. */
  readonly matched: readonly string[];
}

/**
 * Returns the words of a search that the catalogue has nothing for, as they are counted; null: something has them (a filter
 * may have left it out), nothing was typed, or what was typed may be an e-mail address or a number of a person.
 */
export function fruitlessWords(text: string | undefined, { total, matched }: Answered): string | null {
  if (text === undefined || total > 0 || matched.length > 0) return null;
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}@'’&-]+/u)
    .filter(Boolean)
    .join(' ');
  if (words === '' || words.includes('@') || (words.match(/\p{Nd}/gu) ?? []).length > 4) return null;
  return Array.from(words).slice(0, longest).join('').trimEnd();
}
