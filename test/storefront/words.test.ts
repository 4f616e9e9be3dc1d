import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchOf } from '../../src/storefront/exact.ts';
import { openReader } from '../fakes/reader.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { thorough } from '../fakes/thorough.ts';

it.each([
  ['zoo', '"zoo"*'],
  ['golden mus', '"golden" "mus"*'],
  ['Musée d’Orsay', '"Musée" "d" "Orsay"*'],
  ['"van gogh"', '"van" "gogh"*'],
  ['NEAR(a b, 5) AND title:x -y *', '"NEAR" "a" "b" "5" "AND" "title" "x" "y"*'],
  ['東京タワー 2', '"東京タワー" "2"*'],
  ['', null],
  ['  \t\n', null],
  ['"', null],
  ["''--;*()^:", null],
  ['🎡🎢', null],
  ['\0', null],
])('%j is asked as %s', (text, match) => {
  expect(matchOf(text)).toBe(match);
});

it('nothing that a person can type is an error', () => {
  using test = testMirror();
  using reader = openReader(test.path);
  const syntax = fc.constantFrom(
    '"',
    "'",
    '*',
    'NEAR(',
    ' AND ',
    ' OR ',
    ' NOT ',
    '-',
    '^',
    '{title} :',
    '(',
    ')',
    ',',
    '+',
    '\0',
    '\ud800',
    '🏰',
    'é',
    'ﬁ',
    'title:',
    ';',
    '%',
    '_',
    '\\',
    'zoo',
  );
  const typed = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.oneof(syntax, fc.string()), { maxLength: 30 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(typed, (text) => {
      reader.exact({ text });
    }),
    { numRuns: thorough ? 600 : 60 },
  );
  for (const letter of ['a', ' a', '"', '* ', '🏰', 'é'])
    expect(reader.exact({ text: letter.repeat(10_000) })).toEqual([]);
});
