import { randomUUID } from 'node:crypto';
import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { runMark } from './fakes/no-child-outlives.ts';
import { SkippedReporter } from './fakes/skipped-reporter.ts';
import { thorough } from './fakes/thorough.ts';
import { DurationReporter, LongestFirst } from './near/longest-first.ts';

/** Mirrors of tests are thrown away: in memory an fsync costs nothing. What a power cut leaves is asked by `npm run faults`. */
const memory = '/dev/shm';
const roomy = () => {
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 * 1024 ** 3;
};

const directory = existsSync(memory) && roomy() ? memory : tmpdir();
/** Children from source start in half the time where their code is compiled once. */
const compiled = join(import.meta.dirname, '../node_modules/.cache/compiled');

const results = process.env.CATALOGUED_TEST_RESULTS;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    pool: 'forks',
    // A worker keeps the modules it has loaded for its next file: they have no state that tests could share.
    isolate: false,
    // Decoded answers die young: in a larger nursery fewer of them are copied, which saves 8 % of processor time.
    execArgv: ['--max-semi-space-size=32'],
    // Tests wait for children and the disk now and then, most of all in the strict run; the default is one worker less than cores.
    maxWorkers: availableParallelism() + (thorough ? 2 : 1),
    env: { TMPDIR: directory, NODE_COMPILE_CACHE: compiled, [runMark]: randomUUID() },
    sequence: { sequencer: LongestFirst },
    setupFiles: ['fakes/prepared-when-used.ts'],
    globalSetup: ['fakes/no-child-outlives.ts', 'fakes/tools.ts', 'fakes/build-once.ts', 'fakes/filled-worlds.ts'],
    // For what hangs: the strict run gives way to what runs beside it in .ci/run, where seven seconds have taken two minutes.
    testTimeout: thorough ? 600_000 : 120_000,
    hookTimeout: thorough ? 600_000 : 120_000,
    // Polls wait for what happens, on whatever else the machine does.
    expect: { poll: { timeout: 60_000 } },
    reporters: [
      'default',
      new SkippedReporter(),
      new DurationReporter(),
      ...(results ? [['json', { outputFile: results }] as ['json', { outputFile: string }]] : []),
    ],
  },
});
