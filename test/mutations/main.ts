import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sequence } from '../../src/sandbox/random.ts';
import { sourceFiles } from '../architecture/import-graph.ts';
import { commandLine, someNumber, wholeNumber } from '../command-line.ts';
import type { Mutation } from './mutation.ts';
import { nearestTests } from './nearest.ts';
import { mutationsOf } from './operators.ts';
import { promised } from './promises.ts';
import { type Fate, Scratch } from './scratch.ts';

/*
 * A drawn sample of changed lines, five lines changed for each promise, or all changes of the lines that are named, each
 * tried in a scratch copy against the tests that should notice: one line a mutation, the share at the end. A test that is
 * expected to fail also passes without the mutation, which is tried.
 */
const command = commandLine(
  'npm run test:mutations --',
  'Changes one line after the other, and runs the tests that should notice. Exit 0: at least 85 % are caught.',
  {
    '': 'a drawn sample, half an hour',
    '--promises': 'five lines for each promise',
    '--only src/inbox/admission.ts:40': 'all changes of a line',
  },
)
  .option('--promises', 'the lines that keep the promises, instead of drawn ones')
  .option('--sample <n>', 'how many drawn changes are judged: what does not compile does not count', someNumber, 60)
  .option('--seed <n>', 'which are drawn', wholeNumber, 1)
  .option('--only <file[:line],…>', 'only the changes there')
  .option('--workers <n>', 'how many are tried side by side', someNumber, 1)
  .parse();
const { promises, sample, seed, only, workers } = command.opts<{
  promises?: true;
  sample: number;
  seed: number;
  only?: string;
  workers: number;
}>();
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

/** Each of them once, in the order of the seed. */
function shuffled(all: readonly Mutation[]): Mutation[] {
  const [chance, from] = [sequence(seed), [...all]];
  return all.flatMap(() => from.splice(Math.floor(chance() * from.length), 1));
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 100);

function told(fate: Fate): string {
  return fate.kind === 'survived' ? `by ${fate.tests.join(', ') || 'no test: none imports it'}` : `by ${fate.by}`;
}

/** Judges what is left, one after the other. */
async function judgeAll(scratch: Scratch): Promise<void> {
  for (const mutation of left) {
    const fate = await scratch.try(mutation, mutation.tests ?? nearest(mutation.file));
    counts[fate.kind] += 1;
    const { file, line, kind, from, to } = mutation;
    process.stdout.write(
      `${fate.kind.padEnd(8)}  ${file}:${line}  ${kind}: ${short(from)} → ${short(to)}  ${told(fate)}\n`,
    );
  }
}

const nearest = nearestTests(root);
const candidates = promises ? promised() : all();
const isMeant = ({ file, line }: Mutation) =>
  only?.split(',').some((each) => `${file}:${line}` === each || file === each);
const chosen = only !== undefined ? candidates.filter(isMeant) : promises ? candidates : shuffled(candidates);
if (chosen.length === 0) command.error(`error: no line to change is at ${only ?? 'all'}`);
const judged = only === undefined && !promises ? sample : Number.POSITIVE_INFINITY;
const counts = { caught: 0, survived: 0 };
using copies = new DisposableStack();
const scratches = Array.from({ length: workers }, () => copies.use(new Scratch()));
// What was chosen by hand compiles; of what was drawn about a third does not.
const sound = promises ? chosen : (scratches[0]?.compiling(chosen.slice(0, 2 * judged)) ?? []);
const left = sound.slice(0, judged).values();
await Promise.all(scratches.map(judgeAll));
const valid = counts.caught + counts.survived;
const share = valid === 0 ? 'nothing was judged' : `${((100 * counts.caught) / valid).toFixed(1)} % caught`;
process.stdout.write(`${counts.caught} caught, ${counts.survived} survived: ${share}\n`);
process.exitCode = valid > 0 && counts.caught >= wanted * valid ? 0 : 1;
