import { expect, it } from 'vitest';
import { keyPause } from '../src/daemon/key-pause.ts';

const minute = 60_000;

it('the pause after a refused key doubles up to an hour, and ends with one answer to any call', () => {
  let answers = 3;
  const key = keyPause(() => answers);
  expect(key.mayTry(0)).toBe(true);
  const pauses = Array.from({ length: 8 }, () => key.note('No such key.', 1000) / minute);
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect([key.refused(), key.mayTry(1000 + 59 * minute), key.mayTry(1000 + 60 * minute)]).toEqual([
    'No such key.',
    false,
    true,
  ]);
  answers += 1;
  expect([key.refused(), key.mayTry(1000)]).toEqual([null, true]);
  expect(key.note('No such key.', 1000)).toBe(minute);
  key.tryNow();
  expect([key.refused(), key.mayTry(1000)]).toEqual([null, true]);
  expect(key.note('No such key.', 2000)).toBe(2 * minute);
});
