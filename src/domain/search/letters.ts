/** Letters that Unicode does not take apart, as people type them who do not have them. */
const written: Readonly<Record<string, string>> = {
  ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i', ĸ: 'k', ŋ: 'n', ŧ: 't', ŀ: 'l', ſ: 's',
  ə: 'e', ɓ: 'b', ɗ: 'd', ƙ: 'k', ƴ: 'y', ς: 'σ', ة: 'ه', ى: 'ي', ـ: '', '™': ' ', '®': ' ', '©': ' ', '℠': ' ',
}; // biome-ignore format: a table

/** Signs inside a word that do not end it: apostrophes of every keyboard. */
const apostrophes = /['’‘ʼ`´′ʻ＇]/u;

/** Marks over and under a letter; those of the scripts in which they carry the vowel belong to the word. */
const marks = /[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u20d0-\u20ff\ufe20-\ufe2f\ufe00-\ufe0f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]/gu; // biome-ignore format: a table

const partOfWord = /[\p{L}\p{N}\p{M}]/u;

/**
 * What a letter is searched as: small, without marks, in the letters of every keyboard. A space where it ends a word,
 * nothing where it is to be passed over.
 */
export function foldLetter(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  // Beyond what most keyboards have: emoji, and further ideographs. A syllable of Korean comes apart in NFKD, and is searched whole.
  if (code > 0xffff) return isRunOn(letter) ? letter : ' ';
  if (code >= 0xac00 && code <= 0xd7af) return letter;
  if (apostrophes.test(letter)) return '';
  const small = letter.toLowerCase();
  const known = written[small];
  if (known !== undefined) return known;
  const plain = [...small.normalize('NFKD').replace(marks, '')].map((part) => written[part] ?? part).join('');
  if (plain === '' && small.replace(marks, '') === '') return '';
  const kept = [...plain].map((part) => (partOfWord.test(part) ? part.toLowerCase() : ' ')).join('');
  return kept.trim() === '' ? ' ' : kept;
}

/** Scripts without spaces between words (of Korean, with particles at them): two letters at a time stand for words. */
export function isRunOn(letter: string): boolean {
  const code = letter.codePointAt(0) ?? 0;
  return (
    (code >= 0x0e00 && code <= 0x0eff) ||
    (code >= 0x1000 && code <= 0x109f) ||
    (code >= 0x1780 && code <= 0x17ff) ||
    (code >= 0x2e80 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7af) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0x20000 && code <= 0x3ffff)
  );
}

/** Whether a letter of a query may be left as it is without being looked up. */
const asciiWord = /^[a-z0-9]$/;

/** Where letters are that are not searched as themselves: not among the ideographs and the syllables of Korean. */
const folding = [
  [0x1, 0x33ff],
  [0xa640, 0xabff],
  [0xf900, 0xffff],
] as const;

/** Every letter that is not searched as itself, with what it is searched as: for those who fold in SQL. */
export function* foldedLetters(): Generator<[letter: string, folded: string]> {
  for (const [first, last] of folding) yield* foldedBetween(first, last);
}

function* foldedBetween(first: number, last: number): Generator<[letter: string, folded: string]> {
  for (let code = first; code <= last; code++) {
    const letter = String.fromCodePoint(code);
    // Nobody types what is no character.
    if (asciiWord.test(letter) || /[\p{Cn}\p{Co}]/u.test(letter)) continue;
    const folded = foldLetter(letter);
    if (folded !== letter) yield [letter, folded];
  }
}
