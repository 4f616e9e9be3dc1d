import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { around } from '../../src/storefront/places.ts';
import { openReader, type Reader } from '../../src/storefront/reader.ts';
import { section } from '../documents.ts';
import { putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { realEntries } from '../storefront/relevance/entries.ts';
import { largeMirror } from './large-mirror.ts';
import { type Line, median, quantile } from './line.ts';
import { optionsOf } from './options.ts';
import { type Typo, typosOf } from './typos.ts';

/*
 * Searches in processor time, so that a neighbour of the machine falls upon none: `reader.find` beside the documented
 * statement in Node, Python and PHP. `npm run bench -- search --products 7500` for one size, or `--mirror FILE` for one that
 * is filled already; `typos` for the words that are mistyped in the shared sample.
 */

const rounds = 3;

/** What people type at the sandbox's catalogue: heads, names, beginnings, typos, generic words, and what nothing has. */
const typed = [
  'museum', 'london', 'golden', 'tower', 'guided tour', 'golden museum', 'harbour castle london', 'saint anne cathedral', 'goldn musuem',
  'observtory', 'cathedrel paris', 'mus', 'obs', 'gol', 'things to do in paris', 'tickets for the royal palace', 'skip the line rome',
  'xyzzy', 'zoo xyzzy rome', 'rivercruise', 'evening visit', 'london town 7 amber', 'amsterdam', 'blue gallery florence', 'theater berlin',
] as const; // biome-ignore format: a list

const statement = readFileSync(new URL('../../schema/search.sql', import.meta.url), 'utf8');
const near = /```sql\n([^`]*FROM bookable_days b\nCROSS JOIN place_rows[^`]*)```/.exec(
  section('Every word as it is typed'),
)?.[1];

interface Ask {
  readonly sql: string;
  readonly bound: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly ms: readonly number[];
  readonly ids: readonly number[];
}

const nothing = Object.fromEntries(
  ['city_id', 'country_id', 'tag_id', 'min_rating', 'max_price', 'sellable', 'from', 'to'].map((name) => [name, null]),
);

function askFor(text: string, limit = 20): Ask {
  return { sql: statement, bound: { ...nothing, text, language: 'en', currency: 'EUR', limit, offset: 0 } };
}

function processorMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Each question so many times, the first one not counted: what is read then is read by everybody. */
function timed(questions: readonly (() => unknown)[]): number[] {
  return questions.flatMap((ask) => {
    ask();
    return Array.from({ length: rounds }, () => processorMs(ask));
  });
}

function inNode(mirror: string, asks: readonly Ask[]): Answer[] {
  const db = new Database(mirror, { readonly: true });
  const answers = asks.map(({ sql, bound }) => {
    const prepared = db.prepare<[object], { product_id: number }>(sql);
    const ids = prepared.all(bound).map(({ product_id }) => product_id);
    return { ms: timed([() => prepared.all(bound)]), ids: ids.slice(0, 3) };
  });
  db.close();
  return answers;
}

/** Null: there is no such program here. */
function inProgram(program: 'python3' | 'php', mirror: string, asks: readonly Ask[]): Answer[] | null {
  const script = new URL(`./programs/search-asker.${program === 'php' ? 'php' : 'py'}`, import.meta.url);
  const input = JSON.stringify({ mirror, asks, rounds });
  const ran = spawnSync(program, [fileURLToPath(script)], { input, maxBuffer: 1e9, encoding: 'utf8' });
  if (ran.error !== undefined) return null;
  if (ran.status !== 0) throw new Error(ran.stderr);
  return JSON.parse(ran.stdout) as Answer[];
}

const p95 = (times: readonly number[]) => `${quantile(times, 0.95).toFixed(1)}`;
const allTimes = (answers: readonly Answer[] | null) => (answers === null ? '–' : p95(answers.flatMap(({ ms }) => ms)));

/** The documented statement in each language, beside what the reader took. */
function beside(mirror: string, asks: readonly Ask[]): string {
  const [node, python, php] = [
    inNode(mirror, asks),
    inProgram('python3', mirror, asks),
    inProgram('php', mirror, asks),
  ];
  return `statement in Node ${allTimes(node)}, Python ${allTimes(python)}, PHP ${allTimes(php)} ms`;
}

function dayIn(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

function nearLine(mirror: string, reader: Reader, products: number): Line {
  const place = { latitude: 51.5074, longitude: -0.1278, km: 5 };
  const date = dayIn(5);
  const own = timed([() => reader.search({ near: place, date, max_price: 3000, sellable: true, order: 'price' })]);
  const asks = [{ sql: near ?? '', bound: { ...around(place), date, max_price: 3000 } }].map(({ sql, bound }) => {
    const named = Object.entries(bound).filter(([name]) => new RegExp(`:${name}\\b`).test(sql));
    return { sql, bound: Object.fromEntries(named) };
  });
  const took = quantile(own, 0.95);
  return {
    what: `${products} products: within 5 km, on a date, under 30 €, cheapest first`,
    value: `reader.search ${p95(own)} ms; ${beside(mirror, asks)}`,
    target: '< 10 ms',
    met: took < 10,
  };
}

function sizeLines(mirror: string): Line[] {
  using reader = openReader(mirror);
  const products = reader.find({ limit: 1 }).total;
  const large = products > 10_000;
  const hits = timed(typed.map((text) => () => reader.find({ text })));
  const broad = ['museum', 'london', 'guided tour', undefined];
  const facets = timed(broad.map((text) => () => reader.find({ text, facets: true })));
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
      value: `reader.find ${p95(hits)} ms (median ${quantile(hits, 0.5).toFixed(1)}); ${beside(
        mirror,
        typed.map((text) => askFor(text)),
      )}`,
      target: `< ${ofHits} ms`,
      met: quantile(hits, 0.95) < ofHits,
    },
    {
      what: `${products} products: hits and facets of ${broad.length} broad questions, one of them all products`,
      value: `reader.find ${p95(facets)} ms (median ${quantile(facets, 0.5).toFixed(1)})`,
      target: `< ${ofFacets} ms`,
      met: quantile(facets, 0.95) < ofFacets,
    },
    nearLine(mirror, reader, products),
    {
      what: `${products} products: control, every text looked through for “mus”`,
      value: `median ${median(scanned).toFixed(1)} ms, ${(median(scanned) / median(hits)).toFixed(1)} × that of the questions`,
      target: '≥ 2 ×',
      met: median(scanned) >= 2 * median(hits),
    },
  ];
}

/** Whether one of the first three has the word that was meant in its title. */
const isRight =
  ({ word }: Typo, titles: ReadonlyMap<number, string>) =>
  ({ ids }: Answer) =>
    ids.slice(0, 3).some((id) => titles.get(id)?.toLowerCase().includes(word));

export async function typoLines(): Promise<Line[]> {
  const entries = realEntries();
  using test = testMirror();
  putProducts(test.mirror, entries);
  const titles = new Map(entries.map(({ product_id, title }) => [product_id, title ?? '']));
  const path = test.mirror.path;
  using reader = openReader(path);
  return Object.entries(typosOf([...titles.values()])).flatMap(([kind, typos]): Line[] => {
    const asks = typos.map(({ typed: text }) => askFor(text, 3));
    const rate = (answers: readonly Answer[]) =>
      answers.filter((answer, index) => isRight(typos[index] as Typo, titles)(answer)).length / typos.length;
    const said = (answers: readonly Answer[] | null) =>
      answers === null ? '–' : `${(100 * rate(answers)).toFixed(1)} % ${allTimes(answers)} ms`;
    const node = inNode(path, asks);
    const asTyped = typos.map(({ typed: text }) => ({
      ms: [],
      ids: reader.search({ text, limit: 3 }).map(({ product_id }) => product_id),
    }));
    return [
      {
        what: `${typos.length} words of real titles with ${kind}: right among the first three, the 95th time in a hundred`,
        value: `Node ${said(node)}; Python ${said(inProgram('python3', path, asks))}; PHP ${said(inProgram('php', path, asks))}`,
        target: '> 95 %',
        met: rate(node) > 0.95,
      },
      {
        what: `control: ${kind}, every word taken as it is typed`,
        value: `${(100 * rate(asTyped)).toFixed(1)} %`,
        target: '< 20 %',
        met: rate(asTyped) < 0.2,
      },
    ];
  });
}

export async function searchLines(args: readonly string[]): Promise<Line[]> {
  const { products, mirror } = optionsOf('search', args, { products: 7500, mirror: '' });
  if (mirror !== '') return sizeLines(mirror);
  using test = largeMirror(products);
  return sizeLines(test.mirror.path);
}
