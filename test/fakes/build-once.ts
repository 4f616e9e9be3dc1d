import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { TestProject } from 'vitest/node';
import { importsIn } from '../architecture/import-graph.ts';

const tests = join(import.meta.dirname, '..');
const built = join(import.meta.dirname, 'built-program.ts');

/** Returns whether a test file starts the built program, by itself or by whatever it imports. */
function isStartedBy(files: readonly string[]): boolean {
  const seen = new Set(files);
  // What is added meanwhile is met too.
  for (const file of seen)
    for (const { of } of importsIn(tests, relative(tests, file), readFileSync(file, 'utf8')))
      if (of.endsWith('.ts') && !of.startsWith('..')) seen.add(join(tests, of));
  return seen.has(built);
}

/** Builds the program before the first test, or each worker would. Where it cannot be built, the tests that start it say why. */
export default async function buildOnce({ vitest }: TestProject): Promise<void> {
  if (isStartedBy(vitest.state.getPaths())) await import('./built-program.ts').catch(() => {});
}
