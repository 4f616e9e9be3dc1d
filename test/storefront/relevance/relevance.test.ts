import { describe, expect, it } from 'vitest';
import type { ProductEntry } from '../../../src/domain/catalogue/product.ts';
import type { Reader } from '../../../src/storefront/reader.ts';
import { needs } from '../../fakes/needs.ts';
import { openReader } from '../../fakes/reader.ts';
import { putProducts } from '../../fakes/stored-products.ts';
import { testMirror } from '../../fakes/test-mirror.ts';
import { realEntries, townEntries } from './entries.ts';
import { freshQueries } from './fresh-queries.ts';
import { type Query, realQueries } from './real-queries.ts';
import { strangerQueries } from './stranger-queries.ts';
import { townQueries } from './town-queries.ts';
import { typosOf } from './typos.ts';

type Queries = Readonly<Record<string, readonly Query[]>>;
type Search = (reader: Reader, text: string) => readonly { product_id: number }[];

/** What was expected and is not among the first three, and what found nothing at all. */
function judge(entries: readonly ProductEntry[], queries: Queries, search: Search) {
  using test = testMirror();
  putProducts(test, entries);
  using reader = openReader(test.path);
  const missed: string[] = [];
  const empty: string[] = [];
  for (const [sort, asked] of Object.entries(queries))
    for (const [text, expected] of asked) {
      const found = search(reader, text).map(({ product_id }) => product_id);
      if (found.length === 0) empty.push(text);
      if (!found.slice(0, 3).some((id) => expected.includes(id))) missed.push(`${sort}: ${text}`);
    }
  return { missed, empty, asked: Object.values(queries).flat().length };
}

/** Returns how many of a set were missed. */
function countOf(missed: readonly string[] | undefined, set: string): number {
  return missed?.filter((each) => each.startsWith(`${set}: `)).length ?? 0;
}

const find: Search = (reader, text) => reader.search({ text }).hits;
const search: Search = (reader, text) => reader.exact({ text });

describe('what people type', () => {
  it('names a product of its catalogue, in ten sorts and more', () => {
    expect(Object.keys(townQueries).length).toBeGreaterThanOrEqual(10);
    for (const [text, expected] of Object.values(townQueries).flat()) expect(expected, text).not.toEqual([]);
  });

  it('finds it among the first three, 95 in a hundred times, and nothing at most 3 times', () => {
    const { missed, empty, asked } = judge(townEntries(), townQueries, find);
    expect(asked).toBeGreaterThanOrEqual(80);
    expect(missed).toEqual([]);
    expect(empty).toEqual([]);
  });

  it('is missed by a search that takes every word as it is typed (control)', () => {
    expect(judge(townEntries(), townQueries, search).missed.length).toBeGreaterThanOrEqual(25);
  });

  it('finds it as often among the products of the shared sample', needs('data'), () => {
    const { missed, empty, asked } = judge(realEntries(), realQueries, find);
    expect(asked).toBeGreaterThanOrEqual(80);
    expect(missed).toEqual([]);
    expect(empty).toEqual([]);
    expect(judge(realEntries(), realQueries, search).missed.length).toBeGreaterThanOrEqual(25);
  });

  it('finds so many of a hundred queries among the first three that others wrote', needs('data'), () => {
    const sets = { ...freshQueries, ...strangerQueries };
    const { missed } = judge(realEntries(), sets, find);
    const found = Object.entries(sets).map(([set, { length }]) => [set, length - countOf(missed, set)]);
    expect(Object.fromEntries(found), missed.join()).toEqual({ tuned: 95, second: 99, third: 97, x: 90, y: 97, z: 88 });
    expect(judge(realEntries(), sets, search).missed.length).toBeGreaterThanOrEqual(200);
  });

  it(
    'finds a mistyped word of their titles among the first three, 95 in a hundred times, where every word as it is typed finds one in five (control)',
    needs('data'),
    () => {
      const typos = typosOf(realEntries());
      const [missed, control] = [find, search].map((by) => judge(realEntries(), typos, by).missed);
      for (const [kind, { length }] of Object.entries(typos)) {
        expect(length, kind).toBeGreaterThanOrEqual(80);
        expect(countOf(missed, kind), kind).toBeLessThan(0.05 * length);
        expect(countOf(control, kind), kind).toBeGreaterThan(0.8 * length);
      }
    },
  );
});
