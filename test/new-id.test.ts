import { expect, it } from 'vitest';
import { newId, systemEntropy } from '../src/clock.ts';
import { seededEntropy } from './fakes/seeded-entropy.ts';

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it('an id is a UUID of version 4, whatever bytes it is made of', () => {
  expect(newId((bytes) => new Uint8Array(bytes))).toBe('00000000-0000-4000-8000-000000000000');
  expect(newId((bytes) => new Uint8Array(bytes).fill(255))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
  expect(newId(systemEntropy)).toMatch(version4);
});

it('ids are new each time in production, and the same ones for a seed', () => {
  expect(new Set(Array.from({ length: 1000 }, () => newId(systemEntropy))).size).toBe(1000);
  const idsOf = (seed: number) => {
    const entropy = seededEntropy(seed);
    return [newId(entropy), newId(entropy)];
  };
  expect(idsOf(1)).toEqual(idsOf(1));
  expect(new Set([...idsOf(1), ...idsOf(2)]).size).toBe(4);
});
