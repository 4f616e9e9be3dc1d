import { describe, expect, it } from 'vitest';
import type { Reader } from '../../../src/storefront/reader.ts';
import { openReader } from '../../fakes/reader.ts';
import { putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { someOf } from '../../fakes/thorough.ts';
import { type Inflected, inflected, inflectedEntries, inflectedId, inflectedKinds } from './inflected-products.ts';
import { inflectedQueries } from './inflected-queries.ts';

type Search = (reader: Reader, text: string, language: Inflected) => readonly { product_id: number }[];

const find: Search = (reader, text, language) => reader.search({ text, language }).hits;
const exact: Search = (reader, text, language) => reader.exact({ text, language });

/** Returns the queries whose product is not among the first three: of those that were written, and of those made of kinds and cities. */
function missed(language: Inflected, search: Search, given: { readonly english: boolean }) {
  using test = testMirror();
  const [english, own] = inflectedEntries(language);
  const unnamed = own.map((each) => ({ ...each, title: null, city_name: null }));
  putProducts(test, given.english ? english : unnamed);
  putProducts(test, own, { language });
  using reader = openReader(test.path);
  const isMissed = (text: string, id: number) =>
    !search(reader, text, language)
      .slice(0, 3)
      .some(({ product_id }) => product_id === id);
  return {
    products: own.length,
    written: inflectedQueries[language]
      .filter(([text, name, city]) => isMissed(text, inflectedId(language, name, city)))
      .map(([text]) => text),
    made: inflectedKinds(language)
      .filter(([text, id]) => isMissed(text, id))
      .map(([text]) => text),
  };
}

describe('a catalogue of 240 products whose words are inflected', () => {
  it.each(someOf(inflected))('has what is meant among the first three, 23 of 25 times: %s', (language) => {
    const found = missed(language, find, { english: true });
    expect(found.products).toBe(240);
    expect(inflectedQueries[language]).toHaveLength(25);
    expect(found.written.length, found.written.join()).toBeLessThanOrEqual(2);
    expect(found.made.length, found.made.join()).toBeLessThanOrEqual(0.02 * 220);
  });

  it.each(someOf(inflected))('has it there where no other language is mirrored: %s', (language) => {
    const found = missed(language, find, { english: false });
    expect(found.written.length, found.written.join()).toBeLessThanOrEqual(2);
    expect(found.made.length, found.made.join()).toBeLessThanOrEqual(0.02 * 220);
  });

  it.each(someOf(inflected))('is missed by a search that takes every word as it is typed (control): %s', (language) => {
    const found = missed(language, exact, { english: true });
    expect(found.written.length).toBeGreaterThan(2);
    expect(found.made.length).toBeGreaterThan(0.02 * 220);
  });
});
