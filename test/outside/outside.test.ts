import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, it } from 'vitest';

const here = import.meta.dirname;
const root = join(here, '../..');

/** Files that a file imports, through others too, below the root; packages are left out. */
function reached(file: string, seen = new Set<string>()): Set<string> {
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:\bfrom|\bimport\(?)\s*'(\.[^']+)'/g)) {
    const found = resolve(dirname(file), path);
    if (seen.has(found)) continue;
    seen.add(found);
    if (!found.startsWith(join(root, 'src/'))) reached(found, seen);
  }
  return seen;
}

const insideOf = (file: string) =>
  [...reached(file)].map((each) => relative(root, each)).filter((each) => each.startsWith('src/'));

it('nothing here imports what lies below src/, by whatever way', () => {
  const files = readdirSync(here).filter((name) => name.endsWith('.ts'));
  expect(files.filter((name) => insideOf(join(here, name)).length > 0)).toEqual([]);
  // A file that does so by one file between is seen (control).
  expect(insideOf(join(root, 'test/mirror/views.test.ts'))).toContain('src/kernel/clock.ts');
});
