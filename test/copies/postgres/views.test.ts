import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const textOf = (path: string) => readFileSync(new URL(`../../../schema/${path}`, import.meta.url), 'utf8');
const viewsIn = (path: string) => [...textOf(path).matchAll(/^CREATE VIEW (\w+)/gm)].map(([, name = '']) => name);

test('every view of the mirror is written for PostgreSQL too, and no other', () => {
  expect(viewsIn('postgres/views.sql').sort()).toEqual(viewsIn('mirror/views.sql').sort());
});
