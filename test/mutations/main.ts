import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sequence } from '../../src/sandbox/random.ts';
import { sourceFiles } from '../architecture/import-graph.ts';
import type { Mutation } from './mutation.ts';
import { nearestTests } from './nearest.ts';
import { mutationsOf } from './operators.ts';
import { promised } from './promises.ts';
import { type Fate, Scratch } from './scratch.ts';

/*
 * `npm run test:mutations [-- --promises] [-- --sample 60] [-- --seed 1] [-- --only TEXT,TEXT]`: five lines changed for each promise
 * (--promises), and a drawn sample of changed lines, each tried in a scratch copy against the tests that should notice. One line a mutation, the share at
 * the end; exit 1 below 85 % caught. A test that is expected to fail also passes without the mutation, which is tried.
 */
const { values } = parseArgs({
  options: {
    promises: { type: 'boolean', default: false },
    sample: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
});
const root = join(import.meta.dirname, '../..');
const wanted = 0.85;

/** Mutations drawn from those rooms in which the decisions are and what they decide is stored. */
function drawn(many: number, seed: number): Mutation[] {
  const all = ['domain', 'inbox', 'sync', 'mirror'].flatMap((room) =>
    sourceFiles(join(root, 'src', room)).flatMap((name) => {
      const file = join('src', room, name);
      return mutationsOf(file, readFileSync(join(root, file), 'utf8'));
    }),
  );
  const chance = sequence(seed);
  return Array.from({ length: many }, () => all.splice(Math.floor(chance() * all.length), 1)).flat();
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 100);

function told(fate: Fate): string {
  if (fate.kind === 'invalid') return 'does not compile';
  return fate.kind === 'survived' ? `by ${fate.tests.join(', ') || 'no test: none imports it'}` : `by ${fate.by}`;
}

const nearest = nearestTests(root);
const sample = drawn(Number(values.sample), Number(values.seed));
const chosen = [...(values.promises ? promised() : []), ...sample].filter(({ file, kind }) =>
  values.only.split(',').some((each) => `${kind} ${file}`.includes(each)),
);
const counts = { caught: 0, survived: 0, invalid: 0, unsound: 0 };
using scratch = new Scratch();
for (const mutation of chosen) {
  const fate = scratch.try(mutation, mutation.tests ?? nearest(mutation.file));
  counts[fate.kind] += 1;
  const { file, line, kind, from, to } = mutation;
  process.stdout.write(
    `${fate.kind.padEnd(8)}  ${file}:${line}  ${kind}: ${short(from)} → ${short(to)}  ${told(fate)}\n`,
  );
}
const valid = counts.caught + counts.survived;
process.stdout.write(
  `${counts.caught} caught, ${counts.survived} survived, ${counts.invalid} invalid, ${counts.unsound} unsound: ${((100 * counts.caught) / valid).toFixed(1)} % caught\n`,
);
process.exitCode = counts.caught >= wanted * valid ? 0 : 1;
