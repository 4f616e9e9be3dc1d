import type { Connection } from '../connection.ts';

/** A piece of a text; joined, the pieces are the text. */
export interface Piece {
  readonly text: string;
  /** True if this is a word that was asked for. */
  readonly matched: boolean;
}

/** Returns which words of a text stand for what was asked: by the letters and words of the file, as everything else. */
export function highlighter(connection: Connection): (text: string, every: string, language: string) => Piece[] {
  const letters = connection.query<[], { letter: string; folded: string }>('SELECT letter, folded FROM search_letters');
  const terms = connection.query<[string, string], { term: string }>(
    'SELECT term FROM search_words WHERE word = ? AND language = ?',
  );
  let folds: ReadonlyMap<string, string> | null = null;

  return (text, every, language) => {
    folds ??= new Map(letters.all([]).map(({ letter, folded }) => [letter, folded]));
    const asked = askedOf(every);
    const known = new Map<string, boolean>();
    const isAsked = (word: string) => {
      const told = known.get(word) ?? terms.all([word, language]).some(({ term }) => asked(term));
      known.set(word, told);
      return told;
    };
    return joined(piecesOf(text, folds, isAsked));
  };
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

function piecesOf(text: string, folds: ReadonlyMap<string, string>, isAsked: (word: string) => boolean): Piece[] {
  const pieces: Piece[] = [];
  let written = '';
  let word = '';
  const end = () => {
    if (written !== '')
      pieces.push({ text: written, matched: word !== '' && (isAsked(word) || anyPair(word, isAsked)) });
    written = '';
    word = '';
  };
  for (const letter of text) {
    const folded = folds.get(letter) ?? letter;
    if (folded.trim() === '' && folded !== '') {
      end();
      pieces.push({ text: letter, matched: false });
    } else {
      written += letter;
      word += folded.trim();
    }
  }
  end();
  return pieces;
}

/** Scripts without spaces between words are asked for two letters at a time. */
function anyPair(word: string, isAsked: (word: string) => boolean): boolean {
  const letters = [...word];
  return letters.some((letter, index) => letter > '\u0dff' && isAsked(`${letter}${letters[index + 1] ?? ''}`));
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
