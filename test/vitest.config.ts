import { defineConfig } from 'vitest/config';

const results = process.env.CATALOGUED_TEST_RESULTS;

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: results ? ['default', ['json', { outputFile: results }]] : ['default'],
  },
});
