import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { conditionCodes } from '../../../src/says/conditions/table.rules.ts';

const root = join(import.meta.dirname, '../..');

/** The tests, and the worlds in which failures are planted, without comments. */
const tests = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') || path === join('worlds', 'failures.ts'))
  .map((path) => readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/ .*/g, ''));

const untested = (codes: readonly string[]) =>
  codes.filter((code) => !tests.some((text) => text.includes(`'${code}'`) || text.includes(`"${code}"`)));

it('each condition is expected by a test', () => {
  expect(untested(conditionCodes)).toEqual([]);
});

it('and one that no test names is noticed (control)', () => {
  const made_up = ['moon', 'full'].join('-');
  expect(untested([...conditionCodes, made_up])).toEqual([made_up]);
});
