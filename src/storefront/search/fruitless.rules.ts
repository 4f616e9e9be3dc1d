/**
 * Fewer searches for the same words than these are not reported: they would reveal more about a person than about the
 * catalogue.
 */
export const fewestSearches = 5;
/** Most different words that are counted in a day. From a flood of nonsense no more is stored. */
export const wordsADay = 1000;

const longest = 60;

/** Result of a search, as far as it shows whether the catalogue has what was typed. */
export interface SearchAnswer {
  /** Typed words that occur in the catalogue, without generic ones beside others. */
  readonly matched: readonly string[];
}

/**
 * Returns the words of a search that found none of them, in the form in which they are counted. Null if the catalogue has
 * one of them (a filter may have excluded it), if nothing was typed, or if the text may be an e-mail address or a
 * personal number.
 */
export function fruitlessWords(text: string | undefined, { matched }: SearchAnswer): string | null {
  if (text === undefined || matched.length > 0) return null;
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}@'’&-]+/u)
    .filter(Boolean)
    .join(' ');
  if (words === '' || words.includes('@') || (words.match(/\p{Nd}/gu) ?? []).length > 4) return null;
  return Array.from(words).slice(0, longest).join('').trimEnd();
}
