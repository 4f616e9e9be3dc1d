/** More words than anybody types: what follows is not looked at. */
const wordsAtMost = 12;
const mostLetters = 64;

/**
 * Returns what people type, as a question to `product_search`: every word has to be there, the last one may be the
 * beginning of one. No sign of it is ever syntax. Null: there is no word in it.
 */
export function matchOf(text: string): string | null {
  const words = text.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)?.slice(0, wordsAtMost) ?? [];
  if (words.length === 0) return null;
  const quoted = words.map((word) => `"${[...word.slice(0, 2 * mostLetters)].slice(0, mostLetters).join('')}"`);
  return `${quoted.join(' ')}*`;
}
