/** Letters that Unicode does not decompose, with the spelling of people whose keyboards lack them. */
const written: ReadonlyMap<string, string> = new Map([
  ...['ß ss', 'æ ae', 'œ oe', 'ø o', 'ł l', 'đ d', 'ð d', 'þ th', 'ħ h', 'ı i', 'ĸ k', 'ŋ n', 'ŧ t', 'ŀ l', 'ſ s', 'ə e'],
  ...['ɓ b', 'ɗ d', 'ƙ k', 'ƴ y', 'ς σ', 'ة ه', 'ى ي', 'ـ ', '™  ', '®  ', '©  ', '℠  '],
].map((pair) => [pair.slice(0, 1), pair.slice(2)])); // biome-ignore format: a table

/** Signs inside a word that do not end it: the apostrophes of all keyboards. */
const apostrophes = /['’‘ʼ`´′ʻ＇]/u;

/**
 * Marks over and under a letter that are removed. In scripts whose marks carry the vowel they belong to the word and
 * stay.
 */
const marks = [
  [0x300, 0x36f], [0x483, 0x489], [0x591, 0x5c7], [0x610, 0x61a], [0x64b, 0x65f], [0x670, 0x670], [0x6d6, 0x6ed],
  [0x20d0, 0x20ff], [0xfe00, 0xfe0f], [0xfe20, 0xfe2f], [0xad, 0xad], [0x200b, 0x200f], [0x202a, 0x202e], [0x2060, 0x206f],
  [0xfeff, 0xfeff],
] as const; // biome-ignore format: a table

/** Scripts without spaces between words (in Korean, words are joined with particles). */
const runOn = [
  [0xe00, 0xeff], [0x1000, 0x109f], [0x1780, 0x17ff], [0x2e80, 0x9fff], [0xac00, 0xd7af], [0xf900, 0xfaff], [0x20000, 0x3ffff],
] as const; // biome-ignore format: a table

function isIn(ranges: readonly (readonly [first: number, last: number])[], letter: string): boolean {
  const code = letter.codePointAt(0) ?? 0;
  return ranges.some(([first, last]) => code >= first && code <= last);
}

const partOfWord = /[\p{L}\p{N}\p{M}]/u;

/**
 * Returns the form in which a letter is searched: lower case, without marks, in the letters of every keyboard. A space
 * if the letter ends a word, an empty string if it is to be skipped.
 */
export function foldLetter(letter: string): string {
  const known = folds.get(letter);
  if (known !== undefined) return known;
  const folded = foldOne(letter);
  // Letters outside the basic plane (surrogate pairs) are not cached: there are a million of them.
  if (letter.length === 1) folds.set(letter, folded);
  return folded;
}

/** Cache of folded letters: texts consist of few letters, and folding one requires a normalisation. */
const folds = new Map<string, string>();

function foldOne(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  // Letters that most keyboards lack: emoji, and further ideographs. A Korean syllable would be decomposed by NFKD, but
  // is searched whole.
  if (code > 0xffff) return isRunOn(letter) ? letter : ' ';
  if (code >= 0xac00 && code <= 0xd7af) return letter;
  if (apostrophes.test(letter)) return '';
  const small = letter.toLowerCase();
  const known = written.get(small);
  if (known !== undefined) return known;
  const parts = [...small.normalize('NFKD')].filter((part) => !isIn(marks, part));
  if (parts.length === 0) return '';
  const plain = parts.map((part) => written.get(part) ?? part).join('');
  const kept = [...plain].map((part) => (partOfWord.test(part) ? part.toLowerCase() : ' ')).join('');
  return kept.trim() === '' ? ' ' : kept;
}

/**
 * Returns whether a letter belongs to a script without spaces between words, in which pairs of letters are used as
 * words.
 */
export function isRunOn(letter: string): boolean {
  return isIn(runOn, letter);
}

/** Matches letters of a query that may stay as they are without being looked up. */
const asciiWord = /^[a-z0-9]$/;

/** Ranges with letters that are not searched as themselves. Ideographs and Korean syllables are excluded. */
const folding = [
  [0x1, 0x33ff],
  [0x4dc0, 0x4dff],
  [0xa490, 0xabff],
  [0xf900, 0xffff],
] as const;

/** Returns every letter that is not searched as itself, with its folded form, for folding in SQL. */
export function foldedLetters(): readonly FoldedLetter[] {
  everyFold ??= folding.flatMap(([first, last]) => [...foldedBetween(first, last)]);
  return everyFold;
}

type FoldedLetter = readonly [letter: string, folded: string];
let everyFold: readonly FoldedLetter[] | undefined;

function* foldedBetween(first: number, last: number): Generator<FoldedLetter> {
  for (let code = first; code <= last; code++) {
    const letter = String.fromCodePoint(code);
    // Nobody types unassigned and private code points.
    if (asciiWord.test(letter) || /[\p{Cn}\p{Co}]/u.test(letter)) continue;
    const folded = foldLetter(letter);
    if (folded !== letter) yield [letter, folded];
  }
}
