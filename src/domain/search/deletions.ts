/** Words of fewer letters are too much alike for a letter to be guessed. */
const leastLetters = 4;
/** From here on a word may have two typos, and is told by its beginning. */
const longLetters = 8;

/**
 * Returns a word with a letter left out, each in turn, and whole; of a long word its beginning, also with two left out.
 * Two words that a typo turns into each other have one of these in common, wherever it is: a letter too many, too few,
 * wrong, or two that changed places.
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
