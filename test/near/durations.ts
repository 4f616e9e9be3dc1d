import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { thorough } from '../fakes/thorough.ts';

const path = join(import.meta.dirname, '../../node_modules/.cache/test-durations.json');

/** In the environment of a run: test files that begin before all others, separated by commas. */
export const firstFiles = 'CATALOGUED_TEST_FIRST';

/** The usual run and the strict one take different times. */
const suite = thorough ? 'strict' : 'usual';

/** Seconds of the longest files, for a checkout that remembers no run yet: they begin first. */
const slow: Readonly<Record<string, number>> = {
  'commands/daemon.test.ts': 50,
  'copies.test.ts': 35,
  'faults/rotation.test.ts': 55,
  'daemon/instances/partition.test.ts': 35,
  'daemon/instances/takeover.test.ts': 45,
  'daemon/instances/unwritable.test.ts': 90,
  'jobs.test.ts': 140,
  'catalogue/images-month.test.ts': 40,
  'cycle/wrong-clock.test.ts': 40,
  'worlds/seeds.test.ts': 50,
};

/** Seconds of any other file there. */
const usual = 1;

type Remembered = Readonly<Record<string, Readonly<Record<string, number>>>>;

function remembered(): Remembered {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Remembered;
  } catch {
    return {};
  }
}

/** Returns how many seconds a test file, by its path below test/, took when it ran last; before that an estimate. */
export function durations(): (file: string) => number {
  const last = remembered()[suite] ?? {};
  return (file) => last[file] ?? slow[file] ?? usual;
}

/** Remembers seconds of test files, beside those of other files. */
export function remember(seconds: Readonly<Record<string, number>>): void {
  const before = remembered();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ ...before, [suite]: { ...before[suite], ...seconds } }));
}
