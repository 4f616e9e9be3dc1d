import { statSync } from 'node:fs';
import { systemClock } from '../../src/kernel/clock.ts';
import { generateCatalogue } from '../../src/sandbox/world/catalogue.ts';
import { readStatus } from '../../src/says/status/status.store.ts';
import { openReader } from '../fakes/reader.ts';
import { putProducts } from '../fakes/stored-products.ts';
import type { TestMirror } from '../fakes/test-mirror.ts';
import { entryOf, largeMirror } from './large-mirror.ts';
import { count, inDays, type Line, optionsOf, processorTime, quantile, spread } from './measure.ts';

/*
 * What more products cost: each measure at two sizes of catalogue, as the exponent by which it grows, in processor time. 0: not at all; 1: as
 * the catalogue does. `npm run bench -- growth [--products 7500] [--more 100000]`
 */

const rounds = 40;
const shown = 200;
/** Dates of each product: of a month, 100,000 products take minutes to write. */
const days = 7;

interface Measure {
  readonly what: string;
  readonly unit: 'µs' | 'ms' | 'MiB';
  readonly value: number;
  /** The exponent that it may have. */
  readonly most: number;
}

export async function growthLines(args: readonly string[]): Promise<Line[]> {
  const { products: few, more: many } = optionsOf('growth', args, { products: 7500, more: 100_000 });
  const [before, after] = [measured(few), measured(many)];
  return before.map(({ what, unit, value, most }, index) => {
    const grown = after[index]?.value ?? Number.NaN;
    const exponent = Math.log(grown / value) / Math.log(many / few);
    const digits = unit === 'MiB' ? 0 : 1;
    return {
      what: `growth from ${count(few)} to ${count(many)} products: ${what}`,
      value: `${value.toFixed(digits)} → ${grown.toFixed(digits)} ${unit}, exponent ${exponent.toFixed(2)}`,
      target: `≤ ${most}`,
      met: exponent <= most,
    };
  });
}

/** A flat measure may be 1.3 times as much where the catalogue is thirteen times as large; a linear one 1.2 times beyond that. */
const [flat, linear] = [0.1, 1.07];

function measured(products: number): Measure[] {
  using test = largeMirror(products, days);
  return [
    ...reads(test),
    { what: 'an entry of the list stored again, with another price', unit: 'µs', value: storing(test), most: flat },
    { what: '`status`, what the mirror says', unit: 'ms', value: status(test), most: linear },
    { what: 'the file', unit: 'MiB', value: statSync(test.path).size / 1024 / 1024, most: linear },
  ];
}

/** The two sizes are measured minutes apart: what a neighbour of the machine adds must not count as growth. */
function undisturbed(times: readonly number[]): number {
  return quantile(times, 0.1);
}

function reads({ mirror }: TestMirror): Measure[] {
  using reader = openReader(mirror.path);
  const asked = spread(mirror.catalogue.products.ids(), shown);
  const each = (what: string, read: (product_id: number) => unknown): Measure => {
    const all = () => {
      for (const id of asked) read(id);
    };
    const times = Array.from({ length: rounds }, () => (1000 * processorTime(all)) / asked.length);
    return { what, unit: 'µs', value: undisturbed(times), most: flat };
  };
  return [
    each('a product', (id) => reader.product(id)),
    each(`a calendar of ${days} days`, (id) => reader.calendar(id, { from: inDays(0), to: inDays(days - 1) })),
    each('the slots of a day', (id) => reader.slots(id, inDays(5))),
  ];
}

function storing({ mirror }: TestMirror): number {
  const entries = generateCatalogue(1, shown).map((product) => entryOf({ ...product, price: product.price + 100 }));
  return undisturbed(entries.map((entry) => 1000 * processorTime(() => putProducts({ mirror }, [entry]))));
}

function status({ reader }: TestMirror): number {
  return undisturbed(Array.from({ length: 5 }, () => processorTime(() => readStatus(reader, systemClock.now()))));
}
