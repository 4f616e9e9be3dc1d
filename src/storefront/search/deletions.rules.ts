/** Shortest words for which typos are corrected: shorter ones are too similar to each other. */
const leastLetters = 4;
/** Length from which a word may have two typos, and is recognised by its beginning. */
const longLetters = 8;

/**
 * Returns a word, and the word without each one of its letters in turn. For a long word it uses the beginning, and also
 * leaves out two letters. Two words that a typo turns into each other have one of these in common. The typo may be
 * anywhere: an extra, missing or wrong letter, or two that are swapped.
 */
export function deletionsOf(word: string): Set<string> {
  const letters = [...word];
  if (letters.length < leastLetters) return new Set();
  const long = letters.length >= longLetters;
  const beginning = long ? letters.slice(0, longLetters) : letters;
  const shorter = new Set([beginning.join('')]);
  for (let one = 0; one < beginning.length; one++) {
    shorter.add(beginning.toSpliced(one, 1).join(''));
    for (let other = 0; long && other < one; other++)
      shorter.add(beginning.toSpliced(one, 1).toSpliced(other, 1).join(''));
  }
  return shorter;
}
