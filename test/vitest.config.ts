import { existsSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Mirrors of tests are thrown away: in memory an fsync costs nothing. What a power cut leaves is asked by `npm run test:faults`. */
const memory = '/dev/shm';
const roomy = () => {
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 * 1024 ** 3;
};

const results = process.env.CATALOGUED_TEST_RESULTS;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    pool: 'forks',
    // Tests wait for children and the disk now and then: one worker more than cores, where the default is one less.
    maxWorkers: availableParallelism() + 1,
    env: existsSync(memory) && roomy() ? { TMPDIR: memory } : {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: results ? ['default', ['json', { outputFile: results }]] : ['default'],
  },
});
