import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { holds } from './corpus.ts';

it('a counterexample is kept in its smallest form, and asked first from then on', async () => {
  using directory = temporaryDirectory();
  const asked: number[] = [];
  const below = (limit: number) => (input: number) => {
    asked.push(input);
    expect(input).toBeLessThan(limit);
  };
  await expect(holds('numbers', fc.nat(1000), below(10), 100, directory.path)).rejects.toThrow('kept in');
  expect(JSON.parse(readFileSync(join(directory.path, 'numbers.json'), 'utf8'))).toEqual([10]);
  asked.length = 0;
  await holds('numbers', fc.nat(1000), below(1001), 5, directory.path);
  expect(asked).toHaveLength(6);
  expect(asked[0]).toBe(10);
});
