import { abbreviationMark, placeMark } from './marks.rules.ts';
import { type Word, wordsOf } from './words.rules.ts';

/** Texts of a product in a language. */
export interface SearchedText {
  readonly title: string | null;
  readonly city: string | null;
  readonly country: string | null;
  readonly venue: string | null;
  readonly tagline: string | null;
  readonly summary: string | null;
}

/** Terms of a product's texts, separate for each text, as terms with spaces between them. */
export interface Terms {
  /** The title up to its colon: the name of the product, and its names in the other languages. */
  readonly name: string;
  /** The whole title, and the names in the other languages. */
  readonly title: string;
  readonly city: string;
  readonly country: string;
  readonly venue: string;
  readonly tagline: string;
  readonly summary: string;
}

/** A word as people type it, and its term (for several words: their terms in order). */
export type WordReading = readonly [word: string, term: string];

export interface Indexed {
  readonly terms: Terms;
  readonly readings: readonly WordReading[];
}

/** Returns a word of a language without its ending, both with their marks. This is Snowball's stemmer. */
export type Stem = (written: string) => string;

const elision = /^(?:\p{L}{1,2}|dell|dall|nell|sull|all|quell|qu)['’‘ʼ`´′ʻ＇](?=\p{L})/iu;
const possessive = /['’‘ʼ`´′ʻ＇]s$/iu;
/** Words of names that are written short as often as in full. */
const shortened: ReadonlyMap<string, readonly string[]> = new Map([
  ['saint', ['st']],
  ['sainte', ['st']],
  ['sankt', ['st']],
  ['st', ['saint', 'sankt']],
  ['mount', ['mt']],
  ['mt', ['mount']],
]);
const arabic = /^[\u0621-\u064a]/;
/** Runs of short words that people join into one: hoponhopoff. */
const mostJoined = 4;
const mostJoinedLetters = 12;

/** Term of a word, and the typed words that lead to it. */
interface WordTerm {
  readonly term: string;
  readonly typed: readonly string[];
}

/** Returns the terms of words of a language. */
export type TermOf = (word: Word) => WordTerm;

const wordsRemembered = 10_000;

/** Returns a function that finds terms with a stemmer, and caches them: a catalogue consists of few words. */
export function termsBy(stem: Stem): TermOf {
  const known = new Map<string, WordTerm>();
  return (word) => {
    const before = known.get(word.written);
    if (before !== undefined) return before;
    if (known.size >= wordsRemembered) known.clear();
    const found = termBy(stem, word);
    known.set(word.written, found);
    return found;
  };
}

function termBy(stem: Stem, { written, folded: whole, pair }: Word): WordTerm {
  if (pair) return { term: whole, typed: [whole] };
  const bare = written.replace(elision, '').replace(possessive, '');
  const folded = wordsOf(bare)[0]?.folded ?? whole;
  const term = wordsOf(stem(bare))[0]?.folded ?? folded;
  return {
    term,
    typed: [whole, folded, term, ...(shortened.get(folded) ?? []), ...(arabic.test(folded) ? withArticle(folded) : [])],
  };
}

/** The texts of a product in a language, and the terms of that language. */
export interface TextTerms {
  readonly said: SearchedText;
  readonly termOf: TermOf;
}

/**
 * Returns the terms of a product, and the words that lead to them. Its names in the other languages (of the product, its
 * city and its country) are found as well, after its own.
 */
export function indexed({ said, termOf }: TextTerms, others: readonly TextTerms[] = []): Indexed {
  const readings = new Map<string, WordReading>();
  const read = (word: string, term: string) => readings.set(`${word}\n${term}`, [word, term]);

  function termsOf(text: string | null, joining = false, of = termOf): string[] {
    const words = text === null ? [] : wordsOf(text);
    const terms = words.map((word) => {
      const { term, typed } = of(word);
      for (const each of typed) read(each, term);
      return term;
    });
    if (joining) for (const [word, phrase] of joined(words, terms)) read(word, phrase);
    return terms;
  }

  function placeOf(column: 'city' | 'country'): string {
    const terms = new Set(termsOf(said[column], true));
    for (const other of others) for (const term of termsOf(other.said[column], true, other.termOf)) terms.add(term);
    for (const each of [said, ...others.map((other) => other.said)]) {
      const words = wordsOf(each[column] ?? '');
      const whole = words.map(({ folded }) => folded).join('');
      if (whole === '') continue;
      read(whole, placeMark + whole);
      terms.add(placeMark + whole);
      for (const short of abbreviated(words)) read(abbreviationMark + short, placeMark + whole);
    }
    return [...terms].join(' ');
  }

  function nameTerms(): string[] {
    const name = nameOf(said.title, said.city);
    const terms = termsOf(name);
    for (const [short, phrase] of initials(wordsOf(name ?? ''), terms)) read(abbreviationMark + short, phrase);
    return terms;
  }

  const title = termsOf(said.title, true);
  const elsewhere = others.flatMap((other) => termsOf(nameOf(other.said.title, other.said.city), false, other.termOf));
  const added = new Set(elsewhere).difference(new Set(title));
  const terms: Terms = {
    name: [...nameTerms(), ...added].join(' '),
    title: [...title, ...added].join(' '),
    city: placeOf('city'),
    country: placeOf('country'),
    venue: termsOf(said.venue, true).join(' '),
    tagline: termsOf(said.tagline).join(' '),
    summary: termsOf(said.summary).join(' '),
  };
  return { terms, readings: [...readings.values()] };
}

/** Returns the name in a title: the part before the colon, or after it where only the city stands before. */
function nameOf(title: string | null, city: string | null): string | null {
  if (title === null) return null;
  const colon = title.indexOf(':');
  if (colon <= 0) return title;
  const before = title.slice(0, colon);
  const place = new Set(city === null ? [] : wordsOf(city).map(({ folded }) => folded));
  const words = wordsOf(before);
  const isPlace = words.length > 0 && words.every(({ folded }) => place.has(folded) || folded === 'city');
  return isPlace ? title.slice(colon + 1) : before;
}

function* joined(words: readonly Word[], terms: readonly string[]): Generator<WordReading> {
  for (let from = 0; from < words.length; from++) {
    let word = words[from]?.folded ?? '';
    for (let to = from + 1; to < Math.min(words.length, from + mostJoined); to++) {
      if (words[to]?.pair !== false || words[from]?.pair !== false) break;
      word += words[to]?.folded ?? '';
      if (to > from + 1 && word.length > mostJoinedLetters) break;
      if (word.length > 3 || /^\d+$/.test(word)) yield [word, terms.slice(from, to + 1).join(' ')];
    }
  }
}

/** Returns the initials of each three words in a row of a name, with the terms that they stand for. */
function* initials(words: readonly Word[], terms: readonly string[]): Generator<WordReading> {
  for (let from = 0; from + 3 <= words.length; from++) {
    const three = words.slice(from, from + 3);
    if (three.every(({ pair }) => !pair))
      yield [three.map(({ folded }) => folded[0] ?? '').join(''), terms.slice(from, from + 3).join(' ')];
  }
}

/** Returns the initials of a place of several words, alone and with the one of "city". */
function abbreviated(words: readonly Word[]): string[] {
  if (words.length < 2 || words.some(({ pair }) => pair)) return [];
  const short = words.map(({ folded }) => folded[0] ?? '').join('');
  return [short, `${short}c`];
}

/**
 * Returns an Arabic word with the article if it has none, and without it if it has one: it is part of the written word,
 * and often left out.
 */
function withArticle(folded: string): string[] {
  const article = 'ال';
  return folded.startsWith(article) && folded.length > 4 ? [folded.slice(article.length)] : [`${article}${folded}`];
}
