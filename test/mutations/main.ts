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
 * `npm run test:mutations [-- --sample 60 --seed 1] [-- --promises] [-- --only FILE[:LINE],…]`: a drawn sample of changed lines, five
 * lines changed for each promise, or all changes of the lines that are named, each tried in a scratch copy against the tests
 * that should notice. One line a mutation, the share at the end; exit 1 below 85 % caught. A test that is expected to fail
 * also passes without the mutation, which is tried.
 */
const { values } = parseArgs({
  options: {
    promises: { type: 'boolean', default: false },
    sample: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
  },
});
const root = join(import.meta.dirname, '../..');
const wanted = 0.85;

/** Every mutation of those rooms in which the decisions are and what they decide is stored. */
function all(): Mutation[] {
  return ['domain', 'inbox', 'sync', 'mirror'].flatMap((room) =>
    sourceFiles(join(root, 'src', room)).flatMap((name) => {
      const file = join('src', room, name);
      return mutationsOf(file, readFileSync(join(root, file), 'utf8'));
    }),
  );
}

function drawn(from: Mutation[], many: number, seed: number): Mutation[] {
  const chance = sequence(seed);
  return Array.from({ length: many }, () => from.splice(Math.floor(chance() * from.length), 1)).flat();
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 100);

function told(fate: Fate): string {
  if (fate.kind === 'invalid') return 'does not compile';
  return fate.kind === 'survived' ? `by ${fate.tests.join(', ') || 'no test: none imports it'}` : `by ${fate.by}`;
}

const nearest = nearestTests(root);
const { promises, only } = values;
const candidates = promises ? promised() : all();
const isMeant = ({ file, line }: Mutation) =>
  only?.split(',').some((each) => `${file}:${line}` === each || file === each);
const chosen =
  only !== undefined
    ? candidates.filter(isMeant)
    : promises
      ? candidates
      : drawn(candidates, Number(values.sample), Number(values.seed));
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
