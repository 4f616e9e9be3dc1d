import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const textOf = (path: string) => readFileSync(new URL(`../../schema/${path}`, import.meta.url), 'utf8');
const viewsIn = (path: string) => [...textOf(path).matchAll(/^CREATE VIEW (\w+)/gm)].map(([, name = '']) => name);

/** Its rows are SQLite's own index of words. */
const notWrittenTwice = ['search_rows'];

test('every view of the mirror is written for PostgreSQL too, and no other', () => {
  const written = viewsIn('mirror/views.sql').filter((name) => !notWrittenTwice.includes(name));
  expect(viewsIn('postgres/views.sql').sort()).toEqual(written.sort());
});
