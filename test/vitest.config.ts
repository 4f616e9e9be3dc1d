import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const results = process.env.CATALOGUED_TEST_RESULTS;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    pool: 'forks',
    // Tests wait for children and the disk now and then: one worker more than cores, where the default is one less.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: results ? ['default', ['json', { outputFile: results }]] : ['default'],
  },
});
