import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { around } from '../../src/storefront/near-place.ts';
import type { Reader } from '../../src/storefront/reader.ts';
import { openReader } from '../fakes/reader.ts';
import { recordedStatements } from '../fakes/recorded-statements.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { inDays, type Line, median, optionsOf, spread } from './measure.ts';

/*
 * Each read of `catalogued/reader` beside the bare statement that it runs, on a connection of its own, in rounds of both
 * close together. `npm run bench -- reader --products 7500`, or `--mirror FILE` for one that is filled already.
 */

const rounds = 60;
const warmUp = 10;
/** A read of a large mirror may take a tenth of a second: then there are fewer rounds, and fewer reads in each. */
const lineMs = 20_000;
const fewestRounds = 5;
/** Products that are asked for again and again: as warm as a shop's are. */
const shown = 40;

/** A read, and the values that its statement is bound to. */
interface Read {
  readonly what: string;
  readonly ask: (reader: Reader, product_id: number) => unknown;
  readonly bound: (product_id: number) => object;
  /** How the bare statement is asked. */
  readonly one?: true;
}

interface Setting {
  readonly from: string;
  readonly to: string;
  readonly date: string;
  readonly near: { readonly latitude: number; readonly longitude: number; readonly km: number };
}

function readsOf({ from, to, date, near }: Setting): Read[] {
  const page = { limit: 20, offset: 0, language: 'en', currency: 'EUR' };
  return [
    {
      what: 'a product',
      ask: (reader, id) => reader.product(id),
      bound: (product_id) => ({ product_id, language: 'en', currency: 'EUR' }),
      one: true,
    },
    {
      what: 'a calendar of 92 days',
      ask: (reader, id) => reader.calendar(id, { from, to }),
      bound: (id) => [id, 'EUR', from, to],
    },
    { what: 'the slots of a day', ask: (reader, id) => reader.slots(id, date), bound: (id) => [id, 'EUR', date] },
    {
      what: 'a search for words',
      ask: (reader) => reader.exact({ text: 'golden mus' }),
      bound: () => ({ ...page, match: '"golden" "mus"*' }),
    },
    {
      what: 'sellable within 5 km, available on a date, under 30 €, cheapest first',
      ask: (reader) => reader.exact({ near, date, max_price: 3000, sellable: true, order: 'price' }),
      bound: () => ({ ...page, ...around(near), date, max_price: 3000 }),
    },
  ];
}

/** Microseconds of one read, on the average. */
function timed(products: readonly number[], read: (product_id: number) => unknown): number {
  const started = performance.now();
  for (const product_id of products) read(product_id);
  return (1000 * (performance.now() - started)) / products.length;
}

function lineOf(path: string, read: Read, products: readonly number[]): Line {
  const reader = openReader(path);
  const first = products[0] ?? 0;
  const text = recordedStatements(() => read.ask(reader, first)).at(-1) ?? '';
  const db = new Database(path, { readonly: true });
  const statement = db.prepare(text);
  const bare = (id: number) => (read.one ? statement.get(read.bound(id)) : statement.all(read.bound(id)));
  const own = (id: number) => read.ask(reader, id);
  const times = { bare: [] as number[], own: [] as number[], ratio: [] as number[] };
  const once = timed(products.slice(0, 1), own) / 1000;
  const each = products.slice(0, Math.max(1, Math.ceil(lineMs / (4 * (rounds + warmUp) * Math.max(once, 0.001)))));
  const until = performance.now() + lineMs;
  for (let round = -warmUp; round < rounds; round += 1) {
    if (performance.now() > until && times.ratio.length >= fewestRounds) break;
    // One, the other, the other, the one: whatever a neighbour of the machine does falls upon both.
    const before = timed(each, own);
    const without = (timed(each, bare) + timed(each, bare)) / 2;
    const within = (before + timed(each, own)) / 2;
    if (round < 0) continue;
    times.bare.push(without);
    times.own.push(within);
    times.ratio.push(within / without);
  }
  db.close();
  reader.close();
  const ratio = median(times.ratio);
  const value = `${median(times.own).toFixed(1)} µs / ${median(times.bare).toFixed(1)} µs = ${ratio.toFixed(2)} ×`;
  return { what: `reader beside its bare statement: ${read.what}`, value, target: '≤ 1.2 ×', met: ratio <= 1.2 };
}

export async function readerLines(args: readonly string[]): Promise<Line[]> {
  const { products, mirror } = optionsOf('reader', args, { products: 150, mirror: '' });
  if (mirror !== '') return linesOf(mirror);
  await using harness = await virtualHarness({ products }, {}, { start: Date.now() });
  await harness.runUntil(harness.isFilled);
  return linesOf(harness.daemon.config.mirror.path);
}

function linesOf(path: string): Line[] {
  using reader = openReader(path);
  const products = reader.products({ limit: 10_000 });
  const { latitude, longitude } = products.find((product) => product.latitude !== null) ?? {};
  const near = { latitude: latitude ?? 0, longitude: longitude ?? 0, km: 5 };
  const reads = readsOf({ from: inDays(0), to: inDays(91), date: inDays(5), near });
  const sold = products.filter(({ sellable }) => sellable === 1);
  const asked = spread(
    sold.map(({ product_id }) => product_id),
    shown,
  );
  if (asked.length === 0)
    throw new Error(`none of the first ${products.length} products is on sale: nothing can be read`);
  return reads.map((read) => lineOf(path, read, asked));
}
