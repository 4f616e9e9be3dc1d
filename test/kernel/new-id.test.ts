import { expect, it } from 'vitest';
import { newId, systemEntropy } from '../../src/kernel/clock.ts';
import { seededEntropy } from '../fakes/seeded-entropy.ts';

it('ids are new each time in production, and the same ones for a seed', () => {
  expect(new Set(Array.from({ length: 1000 }, () => newId(systemEntropy))).size).toBe(1000);
  const idsOf = (seed: number) => {
    const entropy = seededEntropy(seed);
    return [newId(entropy), newId(entropy)];
  };
  expect(idsOf(1)).toEqual(idsOf(1));
  expect(new Set([...idsOf(1), ...idsOf(2)]).size).toBe(4);
});
