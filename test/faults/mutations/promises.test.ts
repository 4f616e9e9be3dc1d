import { expect, it } from 'vitest';
import { promised } from './promises.ts';

it('the lines that keep the promises are all in their files, once, and at least five of each promise', () => {
  const lines = Map.groupBy(promised(), ({ kind }) => kind);
  expect(lines.size).toBe(14);
  for (const [promise, each] of lines) expect(each.length, promise).toBeGreaterThanOrEqual(5);
});
