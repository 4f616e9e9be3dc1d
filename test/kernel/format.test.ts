import { expect, it } from 'vitest';
import { counted, remaining, spelled } from '../../src/kernel/format.ts';

it.each([
  [counted(0, 'call'), '0 calls'],
  [counted(1, 'call'), '1 call'],
  [counted(2000, 'call'), '2,000 calls'],
  [counted(1, 'delivery', 'deliveries'), '1 delivery'],
  [counted(3, 'delivery', 'deliveries'), '3 deliveries'],
])('a number agrees with its noun: %s', (text, said) => {
  expect(text).toBe(said);
});

it.each([
  [100, '1 s'],
  [0, '0 s'],
  [90_000, '2 min'],
])('work of %i ms that is still to be done takes %s', (ms, said) => {
  expect(remaining(ms)).toBe(said);
});

it.each([
  [-5, '0 seconds'],
  [1400, '1 second'],
  [59_600, '1 minute'],
  [4 * 60_000 + 20_000, '4 minutes'],
  [119 * 60_000, '1 hour'],
  [47 * 3_600_000, '47 hours'],
  [49 * 3_600_000, '2 days'],
])('a headline calls %i ms %s', (ms, said) => {
  expect(spelled(ms)).toBe(said);
});
