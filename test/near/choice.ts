import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sourceFiles } from '../architecture/import-graph.ts';
import { nearestTests } from './nearest.ts';

/** A test file, and the changed file because of which it is run. */
export interface Candidate {
  readonly test: string;
  readonly changed: string;
}

export interface Choice {
  readonly run: readonly Candidate[];
  readonly left: readonly Candidate[];
  /** Expected of those that run. */
  readonly seconds: number;
}

const isTest = (file: string) => file.endsWith('.test.ts');

/**
 * Returns the test files near to what changed, the nearest first: changed ones themselves, then in turn those of each
 * other changed file. A file that nothing can import, such as one of schema/ or docs/, is near to what names it.
 */
export function candidates(root: string, changed: readonly string[]): Candidate[] {
  const nearest = nearestTests(root);
  const own = changed.filter(isTest).map((test) => ({ test, changed: test }));
  const lists = changed
    .filter((file) => !isTest(file))
    .map((file) => testsOf(file).map((test) => ({ test, changed: file })));
  const most = Math.max(0, ...lists.map(({ length }) => length));
  const inTurn = Array.from({ length: most }, (_, rank) => lists.flatMap((list) => list.slice(rank, rank + 1)));
  const once = new Map<string, Candidate>();
  for (const each of [...own, ...inTurn.flat()]) if (!once.has(each.test)) once.set(each.test, each);
  return [...once.values()];

  function testsOf(file: string): string[] {
    return file.endsWith('.ts') ? nearest(file) : nearest(file, namedIn(root, file));
  }
}

/** Returns the sources and tests that name a file: by its path, then by its name, then by the nearest folder that any names. */
function namedIn(root: string, file: string): string[] {
  const paths = ['src', 'test'].flatMap((folder) => sourceFiles(join(root, folder)).map((name) => join(folder, name)));
  // Tests of the choice itself name whatever could be changed.
  const others = paths.filter((path) => !path.startsWith('test/near/'));
  const texts = others.map((path) => [path, readFileSync(join(root, path), 'utf8')] as const);
  const naming = (name: string) => texts.filter(([, text]) => text.includes(name)).map(([path]) => path);
  const quoted = (name: string) => ["'", '/', '`'].flatMap((quote) => naming(`${quote}${name}'`));
  const exact = [file, basename(file)].flatMap(quoted);
  for (let folder = dirname(file); exact.length === 0 && folder !== '.'; folder = dirname(folder))
    exact.push(...naming(`'${folder}/`), ...naming(`'${folder}'`), ...naming(`${folder}/'`));
  return [...new Set(exact)];
}

/** Chooses from the front whatever still fits into `most` seconds on so many processors; what is nearest runs in any case. */
export function choose(
  from: readonly Candidate[],
  { seconds, most, processors }: { seconds: (test: string) => number; most: number; processors: number },
): Choice {
  const run: Candidate[] = [];
  let [sum, longest] = [0, 0];
  for (const each of from) {
    const own = seconds(each.test);
    if (run.length > 0 && Math.max(longest, own, (sum + own) / processors) > most) continue;
    run.push(each);
    sum += own;
    longest = Math.max(longest, own);
  }
  return { run, left: from.filter((each) => !run.includes(each)), seconds: Math.max(longest, sum / processors) };
}
