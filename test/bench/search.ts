import Database from 'better-sqlite3';
import type { Reader } from '../../src/storefront/reader.ts';
import { openReader } from '../fakes/reader.ts';
import { largeMirror } from './large-mirror.ts';
import { inDays, type Line, median, optionsOf, processorTime, quantile } from './measure.ts';

/*
 * Searches in processor time, so that a neighbour of the machine falls upon none. `npm run bench -- search --products 7500` for
 * one size, or `--mirror FILE` for one that is filled already.
 */

const rounds = 3;

/** What people type at the sandbox's catalogue: heads, names, beginnings, typos, generic words, and what nothing has. */
const typed = [
  'museum', 'london', 'golden', 'tower', 'guided tour', 'golden museum', 'harbour castle london', 'saint anne cathedral', 'goldn musuem',
  'observtory', 'cathedrel paris', 'mus', 'obs', 'gol', 'things to do in paris', 'tickets for the royal palace', 'skip the line rome',
  'xyzzy', 'zoo xyzzy rome', 'rivercruise', 'evening visit', 'london town 7 amber', 'amsterdam', 'blue gallery florence', 'theater berlin',
] as const; // biome-ignore format: a list

/** Each question so many times, the first one not counted: what is read then is read by everybody. */
function timed(questions: readonly (() => unknown)[]): number[] {
  return questions.flatMap((ask) => {
    ask();
    return Array.from({ length: rounds }, () => processorTime(ask));
  });
}

const p95 = (times: readonly number[]) => `${quantile(times, 0.95).toFixed(1)}`;

function nearLine(reader: Reader, products: number): Line {
  const near = { latitude: 51.5074, longitude: -0.1278, km: 5 };
  const search = { near, date: inDays(5), max_price: 3000, sellable: true, order: 'price' } as const;
  const own = timed([() => reader.exact(search)]);
  return {
    what: `${products} products: within 5 km, on a date, under 30 €, cheapest first`,
    value: `reader.exact ${p95(own)} ms`,
    target: '< 10 ms',
    met: quantile(own, 0.95) < 10,
  };
}

function sizeLines(mirror: string): Line[] {
  using reader = openReader(mirror);
  const products = reader.search({ limit: 1 }).total;
  const large = products > 10_000;
  const hits = timed(typed.map((text) => () => reader.search({ text })));
  const broad = ['museum', 'london', 'guided tour', undefined];
  const facets = timed(broad.map((text) => () => reader.search({ text, facets: true })));
  const db = new Database(mirror, { readonly: true });
  const scan = db.prepare(
    "SELECT product_id FROM products WHERE language = 'en' AND lower(title || ' ' || tagline || ' ' || document) LIKE '%mus%'",
  );
  const scanned = timed([() => scan.all()]);
  db.close();
  const [ofHits, ofFacets] = large ? [60, 250] : [10, 30];
  return [
    {
      what: `${products} products: ${typed.length} typed questions, 20 hits, the 95th in a hundred`,
      value: `reader.search ${p95(hits)} ms (median ${median(hits).toFixed(1)})`,
      target: `< ${ofHits} ms`,
      met: quantile(hits, 0.95) < ofHits,
    },
    {
      what: `${products} products: hits and facets of ${broad.length} broad questions, one of them all products`,
      value: `reader.search ${p95(facets)} ms (median ${quantile(facets, 0.5).toFixed(1)})`,
      target: `< ${ofFacets} ms`,
      met: quantile(facets, 0.95) < ofFacets,
    },
    nearLine(reader, products),
    {
      what: `${products} products: control, every text looked through for “mus”`,
      value: `median ${median(scanned).toFixed(1)} ms, ${(median(scanned) / median(hits)).toFixed(1)} × that of the questions`,
      target: '≥ 2 ×',
      met: median(scanned) >= 2 * median(hits),
    },
  ];
}

export async function searchLines(args: readonly string[]): Promise<Line[]> {
  const { products, mirror } = optionsOf('search', args, { products: 7500, mirror: '' });
  if (mirror !== '') return sizeLines(mirror);
  using test = largeMirror(products);
  return sizeLines(test.path);
}
