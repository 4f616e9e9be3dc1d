/** A word as it was mistyped. */
export interface Typo {
  readonly word: string;
  readonly typed: string;
}

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** A letter left out, added, wrong, or two exchanged; from the second letter on. */
function mistyped(word: string, nth: number, from = 1): string {
  const at = from + ((nth * 7) % (word.length - from - 1));
  const other = letters[(nth * 11 + at) % letters.length] ?? 'x';
  switch (nth % 4) {
    case 0:
      return word.slice(0, at) + word.slice(at + 1);
    case 1:
      return word.slice(0, at) + other + word.slice(at);
    case 2:
      return word.slice(0, at) + other + word.slice(at + 1);
    default:
      return word.slice(0, at) + (word[at + 1] ?? '') + (word[at] ?? '') + word.slice(at + 2);
  }
}

/** Words of titles that few titles have, each mistyped in every way; the same titles always give the same ones. */
export function typosOf(titles: readonly string[]): Readonly<Record<string, readonly Typo[]>> {
  const counts = new Map<string, number>();
  for (const title of titles)
    for (const word of new Set(title.toLowerCase().match(/\b[a-z]{5,}\b/g)))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts].flatMap(([word, count]) => (count <= 5 ? [word] : [])).sort();
  const some = (least: number, make: (word: string, nth: number) => string) =>
    words
      .filter(({ length }) => length >= least)
      .filter((_, index, { length }) => index % Math.max(1, Math.ceil(length / 100)) === 0)
      .map((word, nth) => ({ word, typed: make(word, nth) }))
      .filter(({ word, typed }) => typed !== word && !counts.has(typed));
  return {
    'one typo': some(5, (word, nth) => mistyped(word, nth)),
    'two typos in a long word': some(8, (word, nth) => mistyped(mistyped(word, nth), nth + 5, 4)),
    'a wrong first letter': some(5, (word, nth) => (letters[(nth * 5 + 3) % letters.length] ?? 'x') + word.slice(1)),
  };
}
