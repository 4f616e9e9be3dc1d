import { foldLetter, isRunOn } from './letters.rules.ts';

/** A word of a text: as written (lower case, for a stemmer), and as searched. */
export interface Word {
  readonly written: string;
  readonly folded: string;
  /** Two letters of a script that writes words without spaces between them. */
  readonly pair: boolean;
}

const mostLetters = 40;
/** Matches a word, including apostrophes with a letter on either side. */
const pattern = /[\p{L}\p{N}\p{M}]+(?:['’‘ʼ`´′ʻ＇][\p{L}\p{N}\p{M}]+)*/gu;

export function fold(text: string): string {
  let folded = '';
  for (const letter of text.normalize('NFC')) folded += foldLetter(letter);
  return folded;
}

/** Returns the words of a text, in order. */
export function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  for (const [token] of text.normalize('NFC').matchAll(pattern)) {
    const folded = fold(token);
    for (const part of folded.split(' ')) {
      for (const run of runs(part)) {
        if (run.pair) words.push(...pairs(run.text).map((pair) => ({ written: pair, folded: pair, pair: true })));
        else if (run.text !== '') {
          const kept = run.text.length > mostLetters ? [...run.text].slice(0, mostLetters).join('') : run.text;
          words.push({ written: run.text === folded ? token.toLowerCase() : kept, folded: kept, pair: false });
        }
      }
    }
  }
  return words;
}

interface Run {
  text: string;
  readonly pair: boolean;
}

/** Divides a word where the kind of script changes: Skytree展望台. */
function runs(folded: string): Run[] {
  const found: Run[] = [];
  for (const letter of folded) {
    const last = found.at(-1);
    const pair = isRunOn(letter);
    if (last !== undefined && last.pair === pair) last.text += letter;
    else found.push({ text: letter, pair });
  }
  return found;
}

function pairs(run: string): string[] {
  const letters = [...run];
  if (letters.length === 1) return letters;
  return letters.slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`);
}
