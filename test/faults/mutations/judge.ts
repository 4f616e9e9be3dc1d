import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sequence } from '../../../src/sandbox/random.ts';
import { sourceFiles } from '../../architecture/import-graph.ts';
import { nearestTests } from '../../near/nearest.ts';
import type { FaultOptions, Outcome } from '../run.ts';
import type { Mutation } from './mutation.ts';
import { mutationsOf } from './operators.ts';
import { promised } from './promises.ts';
import { type Fate, Scratch } from './scratch.ts';

const root = join(import.meta.dirname, '../../..');
/** Of drawn changes some change nothing that anybody sees; one that breaks a promise must be noticed. */
const wanted = { drawn: 0.85, 'of promises': 1 };
/** Drawn changes that are judged. */
const usualSample = 60;

/** Every mutation of the sources. */
function all(): Mutation[] {
  return sourceFiles(join(root, 'src')).flatMap((name) => {
    const file = join('src', name);
    return mutationsOf(file, readFileSync(join(root, file), 'utf8'));
  });
}

/** Each of them once, in the order of the seed. */
function shuffled(all: readonly Mutation[], seed: number): Mutation[] {
  const [chance, from] = [sequence(seed), [...all]];
  return all.flatMap(() => from.splice(Math.floor(chance() * from.length), 1));
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 100);

function told(fate: Fate): string {
  if (fate.kind === 'survived') return `by ${fate.tests.join(', ') || 'no test: none imports it'}`;
  return `by ${fate.by.file}: ${fate.by.title}`;
}

/**
 * Changes one line after the other in a scratch copy, and runs the tests that should notice, or all: a drawn sample, the lines
 * that keep promises, or all changes of the lines that are named. A test that is expected to fail also passes without the mutation.
 */
export async function judgeMutations(
  which: 'drawn' | 'of promises',
  { sample, seed, workers, lines, row, whole }: FaultOptions,
  say: (line: string) => void,
): Promise<Outcome> {
  const isNamed = ({ file, line }: Mutation) => lines.some((each) => `${file}:${line}` === each || file === each);
  const candidates = which === 'drawn' ? all() : promised().filter(({ kind }) => kind.includes(row ?? ''));
  const isSample = lines.length === 0 && (which === 'drawn' || sample !== null);
  const named = lines.length > 0 ? candidates.filter(isNamed) : candidates;
  const chosen = isSample ? shuffled(named, seed) : named;
  const judged = isSample ? (sample ?? usualSample) : Number.POSITIVE_INFINITY;
  const counts = { caught: 0, survived: 0 };
  using copies = new DisposableStack();
  const scratches = Array.from({ length: workers }, () => copies.use(new Scratch(root)));
  // What was chosen by hand compiles; of what was drawn about a third does not.
  const sound = which === 'drawn' ? (scratches[0]?.compiling(chosen.slice(0, 2 * judged)) ?? []) : chosen;
  const left = sound.slice(0, judged).values();
  const nearest = nearestTests(root);
  const everything = sourceFiles(join(root, 'test')).flatMap((name) =>
    name.endsWith('.test.ts') ? [join('test', name)] : [],
  );
  const judge = async (scratch: Scratch) => {
    for (const mutation of left) {
      const near = nearest(mutation.file);
      const others = whole ? everything.filter((file) => !near.includes(file)) : [];
      const tests = mutation.tests ?? [...near, ...others].map((file) => ({ file, titles: null }));
      const fate = await scratch.try(mutation, tests, whole ? ['usual'] : ['usual', 'strict']);
      counts[fate.kind] += 1;
      const { file, line, kind, from, to } = mutation;
      say(`${fate.kind.padEnd(8)}  ${file}:${line}  ${kind}: ${short(from)} → ${short(to)}  ${told(fate)}`);
    }
  };
  await Promise.all(scratches.map(judge));
  const valid = counts.caught + counts.survived;
  const share = valid === 0 ? 'nothing was judged' : `${((100 * counts.caught) / valid).toFixed(1)} % caught`;
  return {
    passed: valid > 0 && counts.caught >= wanted[which] * valid,
    numbers: `${counts.caught} caught, ${counts.survived} survived: ${share}`,
  };
}
