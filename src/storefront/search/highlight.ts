import type { Connection } from '../connection.ts';

/** A piece of a text; joined, the pieces are the text. */
export interface Piece {
  readonly text: string;
  /** True if this is a word that was asked for. */
  readonly matched: boolean;
}

/** A word as it is written in a text, and as it is searched; a letter between words is searched as nothing. */
interface Written {
  readonly text: string;
  readonly word: string;
}

/** Finds the words of texts that stand for what was asked: by the letters and words of the file, as everything else. */
export class Highlighter {
  readonly #letters;
  readonly #terms;
  #folds: ReadonlyMap<string, string> | null = null;

  constructor(connection: Connection) {
    this.#letters = connection.query<[], { letter: string; folded: string }>(
      'SELECT letter, folded FROM search_letters',
    );
    this.#terms = connection.query<[string, string], { word: string; term: string }>(
      'SELECT w.word, w.term FROM json_each(?) a CROSS JOIN search_words w ON w.word = a.value AND w.language = ?',
    );
  }

  /** Returns the pieces of each text. `every` is the query of `search_terms`. The words of all texts are looked up at once. */
  pieces(texts: readonly string[], every: string, language: string): Piece[][] {
    const written = texts.map((text) => this.#wordsOf(text));
    const words = new Set(written.flatMap((each) => each.flatMap(({ word }) => [word, ...pairsOf(word)])));
    const asked = askedOf(every);
    const found = this.#terms.all([JSON.stringify([...words]), language]).filter(({ term }) => asked(term));
    const matched = new Set(found.map(({ word }) => word));
    const isMatched = (word: string) => matched.has(word) || pairsOf(word).some((pair) => matched.has(pair));
    return written.map((each) => joined(each.map(({ text, word }) => ({ text, matched: isMatched(word) }))));
  }

  #wordsOf(text: string): Written[] {
    this.#folds ??= new Map(this.#letters.all([]).map(({ letter, folded }) => [letter, folded]));
    const pieces: Written[] = [];
    let written = '';
    let word = '';
    const end = () => {
      if (written !== '') pieces.push({ text: written, word });
      written = '';
      word = '';
    };
    for (const letter of text) {
      const folded = this.#folds.get(letter) ?? letter;
      if (folded.trim() === '' && folded !== '') {
        end();
        pieces.push({ text: letter, word: '' });
      } else {
        written += letter;
        word += folded.trim();
      }
    }
    end();
    return pieces;
  }
}

/** Returns a test for the terms in a query of `search_terms`: terms are quoted, and a star marks a beginning. */
function askedOf(every: string): (term: string) => boolean {
  const whole = new Set<string>();
  const beginnings: string[] = [];
  for (const [, quoted = '', star] of every.matchAll(/"([^"]*)"( \*)?/g))
    if (star === undefined) for (const term of quoted.split(' ')) whole.add(term);
    else beginnings.push(quoted);
  return (term) => whole.has(term) || beginnings.some((beginning) => term.startsWith(beginning));
}

/** Scripts without spaces between words are asked for two letters at a time. */
function pairsOf(word: string): string[] {
  if (!/[^\0-\u0dff]/.test(word)) return [];
  const letters = [...word];
  return letters.flatMap((letter, index) => (letter > '\u0dff' ? [`${letter}${letters[index + 1] ?? ''}`] : []));
}

function joined(pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = [];
  for (const { text, matched } of pieces) {
    const last = all.at(-1);
    if (last !== undefined && last.matched === matched) all.splice(-1, 1, { text: last.text + text, matched });
    else all.push({ text, matched });
  }
  return all;
}
