import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import type { NamedTest } from './table.ts';

/** What became of the tests that a row names. */
export interface SuiteResult {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: readonly string[];
}

interface Results {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

const root = join(import.meta.dirname, '../../..');

/** Returns what a run of the suite left in a file; while that is empty, the run goes on. Null: there is none. */
export async function resultsOf(path: string | undefined): Promise<Results | null> {
  while (path !== undefined && statSync(path, { throwIfNoEntry: false })?.size === 0) await setTimeout(500);
  return resultsIn(path);
}

function resultsIn(path: string | undefined): Results | null {
  try {
    return JSON.parse(readFileSync(path ?? '', 'utf8')) as Results;
  } catch {
    return null;
  }
}

/** Runs the named tests, in one run of vitest; `slow`: also those of the strict run, `long`: those that have a longer form in it. */
export async function runTests(
  tests: readonly NamedTest[],
  { slow, long }: { readonly slow: boolean; readonly long: boolean },
): Promise<Results> {
  const pattern = [...new Set(tests.map(({ title }) => RegExp.escape(title)))].join('|');
  const files = new Set(tests.map(({ file }) => file));
  const env = { ...(slow ? { CATALOGUED_TEST_STRICT: '1' } : {}), ...(long ? { CATALOGUED_LONG: '1' } : {}) };
  using directory = temporaryDirectory();
  const output = join(directory.path, 'results.json');
  const options = ['run', '--config', 'test/vitest.config.ts', '--reporter', 'json', '--outputFile', output];
  const child = spawn(join(root, 'node_modules/.bin/vitest'), [...options, '-t', pattern, ...files], {
    cwd: root,
    env: { ...process.env, CATALOGUED_TEST_RESULTS: '', ...env },
    stdio: 'ignore',
  });
  await once(child, 'exit');
  return resultsIn(output) ?? { testResults: [] };
}

/** What became of each of these tests, in their order; one that no result is about has failed. */
export function judged({ testResults }: Results, tests: readonly NamedTest[]): SuiteResult {
  let [passed, skipped] = [0, 0];
  const failed: string[] = [];
  for (const { file, title } of tests) {
    const found = testResults
      .filter((each) => each.name.endsWith(`/${file}`))
      .flatMap(({ assertionResults }) => assertionResults.filter(({ fullName }) => fullName.includes(title)));
    if (found.length === 0) failed.push(`${file} has no test "${title}"`);
    for (const { status, fullName } of found)
      if (status === 'passed') passed += 1;
      else if (status === 'failed') failed.push(`${file}: ${fullName}`);
      else skipped += 1;
  }
  return { passed, skipped, failed };
}
