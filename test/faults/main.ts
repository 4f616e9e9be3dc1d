import { join } from 'node:path';
import { anyNumber, commandLine, someNumber, wholeNumber } from '../command-line.ts';
import { startProgram } from '../fakes/run-cli.ts';
import { missingOf } from '../fakes/tools.ts';
import { judged, resultsOf, runTests } from './matrix/suite.ts';
import { type Row, rows } from './matrix/table.ts';
import { CannotRun, type FaultOptions, type Outcome, type Run } from './run.ts';
import { runsOf } from './runs.ts';

type Flag = 'strict' | 'long' | 'all' | 'whole';

/*
 * The table of faults. Tests of the suite are run, or read where a run of the suite has left its results
 * (CATALOGUED_TEST_RESULTS); runs of their own need strace and namespaces. `--only` and `--long` run also what takes long;
 * long forms of tests (CATALOGUED_LONG): a leader is killed 100 times, stopped 30 times, PostgreSQL restarted 20 times.
 */
const command = commandLine(
  'npm run faults --',
  'Prints the table of faults, a line each: injected, expected, measured, control. Exit 0: all as expected.',
  {
    '': 'all in their short form, ten minutes',
    '--only D6,systemd': 'some, in their long form',
    '--only mutations --sample 60 --seed 7': 'drawn lines changed',
    '--only promises --row "A kill"': 'the lines changed that keep a promise; without --row of all',
    '--only mutations --whole --sample 12': 'drawn lines, each against all tests',
    '--only src/receiver/admission.ts:40': 'all changes of a line',
  },
)
  .option('--strict', 'a missing tool, or a test that was skipped, is a failure')
  .option(
    '--only <rows>',
    'only these rows, or mutations of these lines; may be repeated',
    (value: string, before: readonly string[] = []) => [...before, ...value.split(',')],
  )
  .option('--long', 'also what takes minutes: npm scripts, memory, readers, mutations, long forms of tests')
  .option('--all', 'D4, D5, D25: at every position, not at some')
  .option('--kills <n>', 'D1: how many', someNumber, 100)
  .option('--images <n>', 'D3: how many crash images', someNumber, 5000)
  .option('--reads <n>', 'readers, followed: how many', anyNumber, 1_000_000)
  .option('--sample <n>', 'mutations: how many are judged (60); promises: how many, drawn (all)', someNumber)
  .option(
    '--row <words>',
    'promises: only guarantees with this in their beginning (test/faults/mutations/promises.yaml)',
  )
  .option('--whole', 'mutations: all tests judge each, not the nearest')
  .option('--workers <n>', 'mutations: how many are tried side by side', someNumber, 1)
  .option('--seed <n>', 'what is drawn', wholeNumber, 1)
  .parse();
const options = command.opts<
  Omit<FaultOptions, 'lines' | 'long' | 'all' | 'sample' | 'whole'> & {
    only?: readonly string[];
    sample?: number;
  } & Partial<Record<Flag, true>>
>();
const { strict = false, long = false, all = false, whole = false, sample = null, only } = options;
const root = join(import.meta.dirname, '../..');
const say = (line: string) => void process.stdout.write(`${line}\n`);

const asked = only ?? rows.map(({ id }) => id);
const lines = asked.filter((each) => each.includes('/'));
const wanted = [...asked.filter((each) => !lines.includes(each)), ...(lines.length > 0 ? ['mutations'] : [])];
const unknown = wanted.filter((id) => rows.every((row) => row.id !== id));
if (unknown.length > 0)
  command.error(
    `error: there is no row ${unknown.join(', ')}: they are D1 to S13, memory, systemd, readers, followed, mutations, promises`,
  );
const runs = runsOf({ ...options, all, long, lines, whole, sample });
const homeless = Object.keys(runs).filter((id) => !rows.some((row) => row.id === id && row.by.includes(id)));
if (homeless.length > 0)
  throw new Error(`test/faults/matrix/faults.yaml does not say that npm run faults shows ${homeless.join(', ')}`);
const chosen = rows.filter(({ id }) => wanted.includes(id));

interface Ended extends Outcome {
  /** The lines that it has said, the last one of which says how it ended. */
  readonly said: readonly string[];
}

/** Runs a way of injecting a fault; a row that is shown by another row's is not run twice. */
const ended = new Map<Run, Promise<Ended>>();
function once(run: Run): Promise<Ended> {
  const known = ended.get(run) ?? outcomeOf(run);
  ended.set(run, known);
  return known;
}

async function outcomeOf(run: Run): Promise<Ended> {
  const { what, needs = [] } = run;
  const said: string[] = [];
  // What nothing else waits for is told as it happens.
  const tell = (line: string) => (run.beside ? void said.push(`      ${line}`) : say(`      ${line}`));
  const started = performance.now();
  const outcome = async (): Promise<Outcome> => {
    const missing = await missingOf(needs);
    if (missing.length > 0) throw new CannotRun(`${missing.join(' and ')} cannot be used here`);
    return await run.run(tell);
  };
  const { passed, ran, numbers } = await outcome().catch((error: unknown): Outcome => {
    if (error instanceof CannotRun) return { passed: !strict, ran: false, numbers: `skipped: ${error.message}` };
    return { passed: false, numbers: [error, (error as Error).cause ?? ''].join(' ') };
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  said.push(`      ${passed ? 'ok  ' : 'FAIL'}  ${what}: ${numbers} (${seconds} s)`);
  return { passed, ...(ran === false ? { ran } : {}), numbers: `${what}: ${numbers}`, said };
}

/** The runs that show a row; those of another row that take long are left to that one. */
function shownBy({ id, by }: Row): { run: Run; isLeft: boolean }[] {
  return by.flatMap((name) => {
    const asked = only !== undefined && (name === id || wanted.includes(name));
    return (runs[name] ?? []).map((run) => ({ run, isLeft: run.form === 'long' && !long && !asked }));
  });
}

/** Runs all of a row, each with a line of its own; of more than two the sum is what was measured. */
async function injected(row: Row): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { run, isLeft } of shownBy(row)) {
    if (isLeft) {
      outcomes.push({ passed: true, ran: false, numbers: `${run.what}: left to --long` });
      continue;
    }
    const { said, ...outcome } = await once(run);
    for (const line of said) say(line);
    outcomes.push(outcome);
  }
  if (outcomes.length <= 2) return outcomes;
  const bad = outcomes.filter(({ passed }) => !passed);
  return [{ passed: bad.length === 0, numbers: `${outcomes.length} harness runs, ${bad.length} not as expected` }];
}

async function scripted(script: string): Promise<Outcome> {
  if (!long) return { passed: true, ran: false, numbers: `\`npm run ${script}\` is left to --long` };
  const { code, stdout } = await startProgram(['npm', 'run', '--silent', ...script.split(' ')], { cwd: root }).ended;
  return { passed: code === 0, numbers: `ended with ${code}: ${stdout.trim().split('\n').at(-1)}` };
}

const count = (many: number, what: string) => `${many} ${what}${many === 1 ? '' : 's'}`;

function suited({ tests }: Row): Outcome[] {
  if (tests.length === 0) return [];
  const { passed, skipped, failed } = judged(results, tests);
  const numbers = [
    ...(passed > 0 ? [`${count(passed, 'test')} ${passed === 1 ? 'holds' : 'hold'}`] : []),
    ...(skipped > 0 ? [`${count(skipped, 'test')} skipped`] : []),
    ...(failed.length > 0 ? [`FAILED: ${failed.join('; ')}`] : []),
  ].join(', ');
  return [{ passed: failed.length === 0 && (skipped === 0 || !strict), numbers }];
}

const named = chosen.flatMap(({ tests }) => tests);
const last = new Map<Run['beside'], Promise<unknown>>();
for (const { run, isLeft } of chosen.flatMap(shownBy)) {
  if (run.beside === undefined || isLeft || ended.has(run)) continue;
  const before = last.get(run.beside) ?? Promise.resolve();
  const own = before.then(() => outcomeOf(run));
  ended.set(run, own);
  last.set(run.beside, own);
}
// Before the tests: a run of the suite may still be under way.
const shown = new Map<Row, Outcome[]>();
for (const row of chosen) {
  const outcomes = await injected(row);
  for (const script of row.commands) outcomes.push(await scripted(script));
  shown.set(row, outcomes);
}
const results =
  (await resultsOf(process.env.CATALOGUED_TEST_RESULTS)) ??
  (named.length > 0 ? await runTests(named, { long, slow: long || only !== undefined }) : { testResults: [] });
let [failures, left] = [0, 0];
for (const [row, of] of shown) {
  const outcomes = [...suited(row), ...of];
  const passed = outcomes.every((each) => each.passed);
  const ran = outcomes.some((each) => each.ran !== false);
  if (!passed) failures += 1;
  if (!ran) left += 1;
  const found = outcomes.map(({ numbers }) => numbers).join('; ') || 'nothing: thought through, not run';
  say(
    `${passed ? (ran ? 'ok  ' : 'left') : 'FAIL'}  ${row.id}  ${row.injected} | ${row.expected} | ${found} | ${row.control}`,
  );
}
say(
  `${chosen.length} rows, ${failures} not as expected, ${left} not run; ${chosen.filter(({ open }) => open !== '').length} with a part that was thought through and not run`,
);
process.exitCode = failures === 0 ? 0 : 1;
