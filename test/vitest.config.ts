import { defineConfig } from 'vitest/config';

const results = process.env.CATALOGUED_TEST_RESULTS;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for a child or the disk now and then: one worker a core, where the default leaves one idle.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: results ? ['default', ['json', { outputFile: results }]] : ['default'],
  },
});
