import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deletionsOf } from '../../src/storefront/search/deletions.rules.ts';
import { lightStemmers } from '../../src/storefront/search/endings.rules.ts';
import { foldedLetters, foldLetter, isRunOn } from '../../src/storefront/search/letters.rules.ts';
import { stemOf } from '../../src/storefront/search/search-stems.store.ts';
import { indexed, termsBy } from '../../src/storefront/search/terms.rules.ts';
import { fold, wordsOf } from '../../src/storefront/search/words.rules.ts';

const words = (text: string) => wordsOf(text).map(({ folded }) => folded);

describe('a folded text', () => {
  it.each([
    ['Musée d’Orsay', 'musee dorsay'],
    ['Łódź, Ærø & Straße', 'lodz  aero   strasse'],
    ['Đà Nẵng', 'da nang'],
    ['Topkapı İstanbul', 'topkapi istanbul'],
    ['ΣΊΣΥΦΟΣ', 'σισυφοσ'],
    ['ЁЛКА', 'елка'],
    ['مُتْحَف', 'متحف'],
    ['Ｔｏｋｙｏ', 'tokyo'],
    ['กรุงเทพ', 'กรุงเทพ'],
    ['서울', '서울'],
    ['👍🏽', '  '],
  ])('%s is searched as "%s"', (text, folded) => {
    expect(fold(text)).toBe(folded);
  });

  it('is the same whether the marks stand apart or not', () => {
    expect(fold('Gu\u0308ell')).toBe(fold('Güell'));
  });

  it('is folded by letter alike in SQL: every letter that is not itself stands in the table', () => {
    const table = new Map(foldedLetters());
    const wrong: string[] = [];
    for (let code = 1; code <= 0x2ffff; code++) {
      const letter = String.fromCodePoint(code);
      if (/[\p{Cn}\p{Co}\p{Cs}]/u.test(letter)) continue;
      const inSql = code > 0xffff && !isRunOn(letter) ? ' ' : (table.get(letter) ?? letter);
      if (inSql !== foldLetter(letter)) wrong.push(`${code.toString(16)} ${letter}`);
    }
    expect(wrong).toEqual([]);
  });
});

describe('words', () => {
  it.each([
    ['LEGOLAND® Billund Resort: 1-Day', ['legoland', 'billund', 'resort', '1', 'day']],
    ['Rock ’n’ Roll', ['rock', 'n', 'roll']],
    ['東京タワー Skytree展望', ['東京', '京タ', 'タワ', 'ワー', 'skytree', '展望']],
    ['塔', ['塔']],
    ['กรุง', ['กร', 'รุ', 'ุง']],
    [' *" NEAR( ', ['near']],
    ['', []],
  ])('of "%s" are %j', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });
});

describe('the terms of a product', () => {
  const said = { title: null, city: null, country: null, venue: null, tagline: null, summary: null };
  const of = (given: Partial<typeof said>, language = 'en') =>
    indexed({ said: { ...said, ...given }, termOf: termsBy(stemOf(language)) });

  it('name it by its title up to the colon, or after it where only the city stands before', () => {
    const name = (title: string, city: string) => of({ title, city } as never).terms.name;
    expect(name('Sagrada Familia: Fast Track', 'Barcelona')).toBe('sagrada familia');
    expect(name('Rome: Colosseum Arena', 'Rome')).toBe('colosseum arena');
    expect(name('New York City: Food Tour', 'New York')).toBe('food tour');
    expect(name('London Eye', 'London')).toBe('london ey');
    expect(name('Barcelona', 'Barcelona')).toBe('barcelona');
  });

  it.each([
    'ar',
    'da',
    'de',
    'el',
    'en',
    'es',
    'fi',
    'fr',
    'hu',
    'id',
    'it',
    'ja',
    'nl',
    'no',
    'pt',
    'ro',
    'ru',
    'sv',
    'th',
    'tr',
    'zh',
  ])('are words without spaces in %s, whatever is said', (language) => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (title) => {
        for (const [word, term] of of({ title } as never, language).readings) {
          expect(word).not.toMatch(/[\s"]/);
          expect(term).not.toMatch(/"|^\s|\s$/);
          expect(word).not.toBe('');
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('deletions', () => {
  it('of a short word leave out one letter, of a long one two of the first eight', () => {
    expect([...deletionsOf('pisa')].sort()).toEqual(['isa', 'pia', 'pis', 'pisa', 'psa']);
    expect(deletionsOf('rom').size).toBe(0);
    expect(deletionsOf('neuschwanstein')).toContain('euschw');
    expect(deletionsOf('neuschwanstein').size).toBe(37);
  });

  const letter = fc.constantFrom(...'abcdefgh');
  const word = (minLength: number) => fc.string({ unit: letter, minLength, maxLength: 14 });
  const typo = fc.record({ at: fc.nat(), kind: fc.constantFrom('lost', 'added', 'wrong', 'swapped'), letter });
  function withTypo(text: string, { at, kind, letter: other }: { at: number; kind: string; letter: string }): string {
    const letters = [...text];
    const place = at % letters.length;
    if (kind === 'lost') letters.splice(place, 1);
    if (kind === 'added') letters.splice(place, 0, other);
    if (kind === 'wrong') letters[place] = other;
    if (kind === 'swapped')
      letters.splice(
        Math.max(place - 1, 0),
        2,
        ...letters
          .slice(Math.max(place - 1, 0))
          .slice(0, 2)
          .reverse(),
      );
    return letters.join('');
  }

  it('of a word and of the same with a typo have one in common, wherever it is', () => {
    fc.assert(
      fc.property(word(5), typo, (text, mistake) => {
        const other = deletionsOf(withTypo(text, mistake));
        // A word of four letters that lost one is too short to be guessed at all.
        if (other.size > 0) expect([...deletionsOf(text)].some((shorter) => other.has(shorter))).toBe(true);
      }),
    );
  });
});

describe('the endings of a language without a stemmer of Snowball', () => {
  it.each([
    ['pl', 'zamek zamku zamkiem zamki'],
    ['pl', 'katedra katedry katedrze katedrą'],
    ['pl', 'muzeum muzea muzeów muzeach'],
    ['pl', 'królewski królewskiego królewskich królewskim'],
    ['cs', 'hrad hradu hradem hrady'],
    ['cs', 'zámek zámku zámky'],
    ['cs', 'procházka procházky procházce procházkou'],
    ['cs', 'historický historického historických'],
    ['sk', 'veža veže vežou'],
    ['uk', 'замок замку замки замком'],
    ['uk', 'музей музею музеї музеїв музеями'],
    ['uk', 'вежа вежі вежу вежею'],
    ['uk', 'оглядовий оглядового оглядова'],
  ])('are taken off alike: %s %s', (language, forms) => {
    const stem = lightStemmers[language];
    expect(new Set(forms.split(' ').map((form) => stem?.(fold(form)))).size).toBe(1);
  });

  it.each([
    ['pl', 'zamek zamość'],
    ['cs', 'hrad hradec'],
    ['cs', 'most město'],
    ['uk', 'вежа вечір'],
    ['pl', 'bar bary bal'],
  ])('leave different words apart: %s %s', (language, words) => {
    const stems = words.split(' ').map((word) => lightStemmers[language]?.(fold(word)));
    expect(stems.at(-1)).not.toBe(stems[0]);
  });
});
