import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from '../architecture/import-graph.ts';

const sync = join(import.meta.dirname, '../../src/sync');

/** What writes an absence, a sale status, an empty window, or fewer variants and texts. */
const writes = {
  'a product, with its sale status and texts': /products\.store\(/,
  'dates of a window': /availability\.store\(/,
  'dates that another currency has sold out': /availability\.soldOutIn\(/,
  'that dates are not on sale': /off_sale_at: instant\(|records\.missing\(/,
  'variants by their own read': /source: 'variants'/,
  'checkout information': /checkoutInformation\.store\(/,
  'an absence': /removals\.withdraw\(/,
};

/** What passes an answer on to the one place that judges it. */
const passes = /judgeEntry\(|judgeDates\(|judgeVariants\(|evidence\.judge\(/;

/** Files that write without a claim, and why no answer is behind it that nobody judged. */
const unclaimed: Readonly<Record<string, string>> = {
  'records/prepare.ts': 'the configuration excludes the product',
};

/** Returns what a source writes that takes something away, and whether it passes answers on. */
function read(text: string): { readonly written: string[]; readonly passes: boolean } {
  const written = Object.entries(writes).flatMap(([what, pattern]) => (pattern.test(text) ? [what] : []));
  return { written, passes: passes.test(text) };
}

describe('in sync', () => {
  const found = sourceFiles(sync).map((file) => ({ file, ...read(readFileSync(join(sync, file), 'utf8')) }));
  const writing = found.filter(({ written }) => written.length > 0);

  it('every file that writes what an answer takes away passes it on first', () => {
    expect(writing.filter((each) => !each.passes && !(each.file in unclaimed)).map(({ file }) => file)).toEqual([]);
  });

  it('everything of that kind is written somewhere, and what is excused writes it', () => {
    expect(new Set(writing.flatMap(({ written }) => written))).toEqual(new Set(Object.keys(writes)));
    expect(Object.keys(unclaimed).filter((file) => !writing.some((each) => each.file === file))).toEqual([]);
  });

  it('a file that writes it without passing it on is found (control)', () => {
    expect(read('mirror.catalogue.removals.withdraw(product_id)')).toEqual({ written: ['an absence'], passes: false });
  });
});
