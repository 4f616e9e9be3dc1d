import { expect, it } from 'vitest';
import { number } from '../src/words.ts';

it.each([0, 7, 999, 1000, 38_000, 123_456, 1_234_567, -1, -1000, -123_456])(
  'a whole number is grouped as the language does it: %d',
  (value) => {
    expect(number(value)).toBe(value.toLocaleString('en-US'));
  },
);
