import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, someNumber, wholeNumber } from '../command-line.ts';
import { isMissing } from '../fakes/needs.ts';
import type { Fault, Outcome } from './fault.ts';
import { harnesses } from './harnesses.ts';
import { controlOf, withTables } from './matrix/document.ts';
import { type Row, testsOf } from './matrix/row.ts';
import { rows } from './matrix/rows.ts';
import { judged, resultsIn, runTests } from './matrix/suite.ts';

type Flag = 'strict' | 'long' | 'all' | 'write';

/*
 * The matrix of faults. Tests of the suite are run, or read where a run of the suite has left its results
 * (CATALOGUED_TEST_RESULTS); harnesses need strace and namespaces. `--only` and `--long` run also the tests that take long;
 * long forms of tests (CATALOGUED_LONG): a leader is killed 100 times, stopped 30 times, PostgreSQL restarted 20 times.
 */
const command = commandLine(
  'npm run test:faults --',
  'Prints the matrix of faults, a line each: injected, expected, measured, control. Exit 0: all as expected.',
  {
    '': 'all, ten minutes',
    '--only D6': 'one fault, also by tests that take long',
    '--long --only S2,S3,S5': 'the long forms of several',
  },
)
  .option('--strict', 'a missing tool, or a test that was skipped, is a failure')
  .option('--only <ids>', 'only these faults')
  .option('--long', 'also npm scripts that a row names, five minutes of a foreign lock, long forms of tests')
  .option('--all', 'D4, D5, D25: at every position, not at some')
  .option('--kills <n>', 'D1: how many', someNumber, 100)
  .option('--images <n>', 'D3: how many crash images', someNumber, 5000)
  .option('--seed <n>', 'what is drawn', wholeNumber, 1)
  .option('--write', 'put what was measured into docs/faults.md')
  .parse();
const options = command.opts<
  { only?: string; kills: number; images: number; seed: number } & Partial<Record<Flag, true>>
>();
const { strict = false, only, long = false, all = false, kills, images, seed } = options;
const root = join(import.meta.dirname, '../..');
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function ran({ needs, run }: Fault): Promise<Outcome> {
  const missing = needs.filter(isMissing);
  if (missing.length > 0) return { passed: !strict, numbers: `skipped: ${missing.join(' and ')} cannot be used here` };
  return await run().catch((error: unknown) => ({ passed: false, numbers: String(error) }));
}

/** Runs the harnesses of a row, each with a line of its own; of more than two the sum is what was measured. */
async function harnessed(lines: readonly Fault[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const each of lines) {
    const started = performance.now();
    const { passed, numbers } = await ran(each);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(`      ${passed ? 'ok  ' : 'FAIL'}  ${each.what}: ${numbers} (${seconds} s)`);
    outcomes.push({ passed, numbers: `${each.what}: ${numbers}` });
  }
  if (outcomes.length <= 2) return outcomes;
  const bad = outcomes.filter(({ passed }) => !passed);
  return [{ passed: bad.length === 0, numbers: `${outcomes.length} harness runs, ${bad.length} not as expected` }];
}

function scripted(script: string): Outcome {
  if (!long) return { passed: true, ran: false, numbers: `\`npm run ${script}\` is left to --long` };
  const { status, stdout } = spawnSync('npm', ['run', '--silent', ...script.split(' ')], {
    cwd: root,
    encoding: 'utf8',
  });
  return { passed: status === 0, numbers: `ended with ${status}: ${stdout.trim().split('\n').at(-1)}` };
}

const count = (many: number, what: string) => `${many} ${what}${many === 1 ? '' : 's'}`;

function suited(row: Row): Outcome {
  const { passed, skipped, failed } = judged(results, testsOf(row));
  const numbers = [
    ...(passed > 0 ? [`${count(passed, 'test')} ${passed === 1 ? 'holds' : 'hold'}`] : []),
    ...(skipped > 0 ? [`${count(skipped, 'test')} skipped`] : []),
    ...(failed.length > 0 ? [`FAILED: ${failed.join('; ')}`] : []),
  ].join(', ');
  return { passed: failed.length === 0 && (skipped === 0 || !strict), numbers };
}

const wanted = only?.split(',') ?? rows.map(({ id }) => id);
const unknown = wanted.filter((id) => rows.every((row) => row.id !== id));
if (unknown.length > 0) command.error(`error: no fault has the number ${unknown.join(', ')}: they are D1 to S12`);
const chosen = rows.filter(({ id }) => wanted.includes(id));
const named = chosen.flatMap(testsOf);
const results =
  resultsIn(process.env.CATALOGUED_TEST_RESULTS) ??
  (named.length > 0 ? runTests(named, { long, slow: long || only !== undefined }) : { testResults: [] });
const lines = Map.groupBy(harnesses({ kills, images, seed, all, long }), ({ id }) => id);
const measured = new Map<string, string>();
let [failures, left] = [0, 0];
for (const row of chosen) {
  const outcomes = [
    ...(testsOf(row).length > 0 ? [suited(row)] : []),
    ...(await harnessed(lines.get(row.id) ?? [])),
    ...(row.command === undefined ? [] : [scripted(row.command)]),
  ];
  const passed = outcomes.every((each) => each.passed);
  const ran = outcomes.some((each) => each.ran !== false);
  if (!passed) failures += 1;
  if (!ran) left += 1;
  const found = outcomes.map(({ numbers }) => numbers).join('; ') || 'nothing: thought through, not run';
  measured.set(row.id, found);
  say(
    `${passed ? (ran ? 'ok  ' : 'left') : 'FAIL'}  ${row.id}  ${row.fault} | ${row.injected} | ${row.expected} | ${found} | ${controlOf(row)}`,
  );
}
say(
  `${chosen.length} faults, ${failures} not as expected, ${left} not run; ${chosen.filter(({ open }) => open).length} with a part that was thought through and not run`,
);
if (options.write) {
  const path = join(root, 'docs/faults.md');
  writeFileSync(path, withTables(readFileSync(path, 'utf8'), measured));
}
process.exitCode = failures === 0 ? 0 : 1;
