import { defineConfig } from 'rolldown';
import { ownPrograms } from './src/package.ts';

/*
 * The program in few files instead of 1,700: it starts in half the time, and takes 40 MB less. What a command alone needs
 * stays in a file of its own.
 */
export default defineConfig({
  input: Object.fromEntries(['cli', 'storefront/reader', ...ownPrograms].map((name) => [name, `src/${name}.ts`])),
  platform: 'node',
  // Native, loaded only where a database is configured, and a language at a time.
  external: ['better-sqlite3', 'pg', /^@orama\/stemmers/],
  output: {
    // The suite builds one of its own.
    dir: process.env.CATALOGUED_DIST ?? 'dist',
    // Right below dist/: src/package.ts finds the package from there.
    chunkFileNames: '[name]-[hash].js',
    cleanDir: true,
    sourcemap: true,
    comments: false,
  },
});
