import { expect, it } from 'vitest';
import { remaining } from '../src/format.ts';

it.each([
  [100, '1 s'],
  [0, '0 s'],
  [90_000, '2 min'],
])('work of %i ms that is still to be done takes %s', (ms, said) => {
  expect(remaining(ms)).toBe(said);
});
