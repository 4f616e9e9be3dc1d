import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sequence } from '../../../src/sandbox/random.ts';
import { allImports, sourceFiles } from '../../architecture/import-graph.ts';
import { commandLine, someNumber, wholeNumber } from '../../command-line.ts';
import { choose } from '../../near/choice.ts';
import { durations } from '../../near/durations.ts';
import { nearestTests } from '../../near/nearest.ts';
import { declaredIn } from './declared.ts';
import { deletedSince, textAt } from './deleted.ts';
import type { Mutation } from './mutation.ts';
import { namedTests } from './named-tests.ts';
import { mutationsOf } from './operators.ts';
import { type Failed, type Plain, type Reached, Scratch, type Tests } from './scratch.ts';

/*
 * Whether tests may be deleted: what they notice, the tests that are left must notice too. Both judge the same drawn
 * mutations, the deleted tests in a copy of the commit that has them, their heirs in a copy of the working tree.
 */
const command = commandLine(
  'node test/faults/mutations/deletion.ts',
  'Draws changes of what deleted tests import, and prints who notices each: before, and after. Exit 0: the heirs notice all that the deleted tests do.',
  {
    '--heirs test/outside/fill.test.ts': 'what the working tree has deleted since HEAD, whole files and titles',
    '--base HEAD^ --seed 7': 'the nearest tests that are left are the heirs',
    '"test/a.test.ts > title" --heirs "test/b.test.ts > title"': 'before it is deleted',
  },
)
  .argument('[deleted...]', 'test files, or "FILE > TITLE"; without, what the working tree has deleted')
  .option('--base <commit>', 'the commit that has them', 'HEAD')
  .option('--heirs <tests...>', 'test files, or "FILE > TITLE"; without, those nearest to each change')
  .option('--seed <n>', 'what is drawn', wholeNumber, 1)
  .option('--mutants <n>', 'how many are judged', someNumber, 20)
  .option(
    '--seconds <n>',
    'of tests for one mutant, before and after each; the nearest one runs in any case',
    someNumber,
    25,
  )
  .option('--workers <n>', 'how many are judged side by side', someNumber, 2)
  .option('--strict', 'tests run as in .ci/run')
  .option('--root <path>', 'of another project', join(import.meta.dirname, '../../..'))
  .parse();
const options = command.opts<{
  base: string;
  heirs?: readonly string[];
  seed: number;
  mutants: number;
  seconds: number;
  workers: number;
  strict?: true;
  root: string;
}>();
const { base, seed, mutants, root } = options;
const suite = options.strict ? 'strict' : 'usual';
const say = (line: string) => void process.stdout.write(`${line}\n`);
const started = performance.now();

const chance = sequence(seed);

/** Each of them once, in the order of the seed. */
function shuffled<Each>(all: readonly Each[]): Each[] {
  const from = [...all];
  return all.flatMap(() => from.splice(Math.floor(chance() * from.length), 1));
}

/** One of each list in turn, each once. */
function inTurn<Each>(lists: readonly (readonly Each[])[]): Each[] {
  const most = Math.max(0, ...lists.map(({ length }) => length));
  return [...new Set(Array.from({ length: most }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat())];
}

/**
 * The sources that tests are about: those that they import themselves, those that they are among the nearest tests of, and
 * those that their equipment imports, at whatever distance below test/.
 */
function sourcesOf(tree: string, tests: readonly Tests[]): { own: string[]; near: string[]; through: string[] } {
  const imports = Map.groupBy(allImports(join(tree, 'test')), ({ file }) => join('test', file));
  const of = (file: string) => (imports.get(file) ?? []).map((each) => relative(tree, join(tree, 'test', each.of)));
  const isSource = (file: string) => file.startsWith('src/') && file.endsWith('.ts');
  const files = tests.map(({ file }) => file);
  const own = new Set(files.flatMap(of).filter(isSource));
  const through = new Set<string>();
  const seen = new Set(files);
  for (const file of seen)
    for (const each of of(file))
      if (isSource(each)) through.add(each);
      else if (each.startsWith('test/') && each.endsWith('.ts')) seen.add(each);
  const nearest = nearestTests(tree, 6);
  const sources = sourceFiles(join(tree, 'src')).map((name) => join('src', name));
  const near = sources.filter((file) => nearest(file).some((test) => files.includes(test)));
  return { own: [...own].sort(), near, through: [...through].filter((file) => !own.has(file)).sort() };
}

/** Mutations of these files, one of each file in turn, as the seed draws them. */
function drawn(tree: string, files: readonly string[]): Mutation[] {
  const lists = shuffled(files).map((file) => shuffled(mutationsOf(file, readFileSync(join(tree, file), 'utf8'))));
  return inTurn(lists);
}

/**
 * Returns whether the tests call the function that a mutation changes. Nobody knows of a source that their process has not
 * loaded (a program that they start may have), nor of what is not declared as a function.
 */
function standingOf(tree: string, called: readonly Reached[]): (mutation: Mutation) => 'called' | 'unknown' | 'never' {
  return ({ file, start }) => {
    const loaded = called.map((each) => each[file]).filter((each) => each !== undefined);
    if (loaded.length === 0) return 'unknown';
    const around = declaredIn(file, readFileSync(join(tree, file), 'utf8')).findLast(
      (each) => each.start <= start && start < each.end,
    );
    const name = around?.name.split('.').at(-1) ?? '';
    const known = loaded.flatMap((each) => each[name] ?? []);
    return known.length === 0 || known.some((times) => times > 0) ? 'called' : 'never';
  };
}

/** Those of the tests, the nearest to the mutation first, that run within the seconds that it gets. */
function within(tests: readonly Tests[], order: readonly string[], seconds: (test: string) => number): Tests[] {
  const place = ({ file }: Tests) => (order.includes(file) ? order.indexOf(file) : order.length);
  const sorted = tests.toSorted((a, b) => place(a) - place(b));
  const asked = sorted.map(({ file }) => ({ test: file, changed: '' }));
  const { run } = choose(asked, { seconds, most: options.seconds, processors: 1 });
  return sorted.filter(({ file }) => run.some(({ test }) => test === file));
}

interface Pair {
  readonly mutation: Mutation;
  readonly before: Failed | null;
  readonly after: Failed | null;
}

const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 60);
const named = ({ file, title }: Failed) =>
  `${file.replace(/^test\//, '').replace(/\.test\.ts$/, '')} “${short(title)}”`;

function line({ mutation, before, after }: Pair): string {
  const { file, line, kind, from, to } = mutation;
  const what = `${file}:${line}  ${kind}: ${short(from)} → ${short(to)}`;
  if (before === null) return `nobody   ${what}`;
  return `${after === null ? 'MISSED ' : 'caught '}  ${what}  before: ${named(before)}; after: ${after === null ? 'nobody' : named(after)}`;
}

/** Judges one mutation after the other, in two copies of its own. */
async function judge(
  [before, after]: readonly [Scratch, Scratch],
  left: Iterable<Mutation>,
  [deleted, heirs]: readonly [readonly Tests[], readonly Tests[] | null],
  seconds: (test: string) => number,
): Promise<Pair[]> {
  const pairs: Pair[] = [];
  const [nearBefore, nearAfter] = [
    nearestTests(before.path, Infinity),
    nearestTests(after.path, heirs ? Infinity : 18),
  ];
  const estimate = durations();
  for (const mutation of left) {
    const tests = within(deleted, nearBefore(mutation.file), seconds);
    const first = await before.try(mutation, tests, [suite]);
    const nearest = nearAfter(mutation.file);
    const remaining = nearest.filter((file) =>
      deleted.every((each) => each.file !== file || !existsSync(join(root, file))),
    );
    const candidates = heirs ?? remaining.map((file) => ({ file, titles: null }));
    const own = within(candidates, nearest, (test) => estimate(relative('test', test)));
    const second = first.kind === 'caught' ? await after.try(mutation, own, [suite]) : null;
    // What the deleted test notices by chance, on a busy machine, its heirs cannot.
    const again = second?.kind === 'survived' ? await before.try(mutation, tests, [suite]) : first;
    const pair = {
      mutation,
      before: again.kind === 'caught' ? again.by : null,
      after: second?.kind === 'caught' ? second.by : null,
    };
    say(line(pair));
    pairs.push(pair);
  }
  return pairs;
}

async function main(): Promise<number> {
  const deleted = command.args.length > 0 ? namedTests(command.args) : deletedSince(root, base);
  const heirs = options.heirs === undefined ? null : namedTests(options.heirs);
  if (deleted.length === 0) command.error(`error: no test is deleted since ${base}`);
  const strangers = [
    ...deleted.filter(({ file }) => textAt(root, base, file) === null),
    ...(heirs ?? []).filter(({ file }) => !existsSync(join(root, file))),
  ];
  if (strangers.length > 0) command.error(`error: there is no ${strangers.map(({ file }) => file).join(', ')}`);

  using copies = new DisposableStack();
  const pairs = Array.from(
    { length: options.workers },
    () => [copies.use(new Scratch(root, base)), copies.use(new Scratch(root))] as const,
  );
  const [first] = pairs;
  if (first === undefined) return 1;
  const tree = first[0].path;
  const { own, near, through } = sourcesOf(tree, deleted);
  const isSame = (file: string) =>
    existsSync(join(root, file)) && readFileSync(join(root, file), 'utf8') === readFileSync(join(tree, file), 'utf8');
  const lists = [own, near, through].map((list) => list.filter(isSame));
  const sources = new Set(lists.flat());
  const called: Reached[] = [];
  const plain: [string, Plain][] = [];
  for (const each of deleted) {
    called.push(await first[0].reached(each, suite));
    plain.push([each.file, await first[0].plain(each, suite)]);
  }
  const seconds = new Map(plain.map(([file, each]) => [file, each.seconds] as const));
  for (const [file, { passed, failed, skipped }] of plain) {
    if (failed !== null) say(`FAIL  it fails without a mutant: ${named(failed)}`);
    else if (passed === 0) say(`FAIL  no test of it ran (--strict?): ${file}`);
    else if (skipped > 0) say(`${skipped} tests of ${file} were skipped and are judged by nobody (--strict?)`);
  }
  if (plain.some(([, { passed, failed }]) => failed !== null || passed === 0)) return 1;

  const candidates = inTurn(lists.map((list) => drawn(tree, list)));
  const standing = standingOf(tree, called);
  const ordered = ['called', 'unknown'].flatMap((wanted) => candidates.filter((each) => standing(each) === wanted));
  const sound = first[0].compiling(ordered.slice(0, 2 * mutants)).slice(0, mutants);
  say(
    `${deleted.map(({ file, titles }) => (titles === null ? file : `${titles.length} of ${file}`)).join(', ')}; heirs: ${options.heirs?.join(', ') ?? 'the nearest tests that are left'}`,
  );
  say(
    `${sound.length} mutants, seed ${seed}, of ${sources.size} files: ${lists[0]?.length} imported, ${lists[1]?.length} near, ${lists[2]?.length} through equipment`,
  );
  if (sound.length === 0) {
    say('FAIL  nothing can be drawn: they import no source');
    return 1;
  }

  const left = sound.values();
  const judged = await Promise.all(
    pairs.map((pair) => judge(pair, left, [deleted, heirs], (test) => seconds.get(test) ?? 1)),
  );
  const caught = judged.flat().filter(({ before }) => before !== null);
  const missed = caught.filter(({ after }) => after === null);
  const took = Math.round((performance.now() - started) / 1000);
  say(
    `${missed.length === 0 && caught.length > 0 ? 'ok  ' : 'FAIL'}  ${judged.flat().length} mutants: ${caught.length} caught before, ${caught.length - missed.length} of them by the heirs, ${missed.length} missed (${took} s)`,
  );
  if (caught.length === 0) say('      who notices none shows nothing: draw more with --mutants or another --seed');
  return missed.length === 0 && caught.length > 0 ? 0 : 1;
}

process.exitCode = await main();
