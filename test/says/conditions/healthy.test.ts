import { describe, expect, it } from 'vitest';
import { needs } from '../../fakes/needs.ts';
import { expected, healthyDays } from '../../worlds/conditions.ts';

/** Its control is every planted failure: they are seen by the same looks. */
describe('a day beside a service with every quirk', needs('time'), () => {
  it('shows what a person has to know of it, and no other condition at any of its looks', async () => {
    const { looks, unexpected, shown } = await healthyDays(1);
    expect(unexpected).toEqual([]);
    expect(shown).toEqual(Object.keys(expected));
    expect(looks).toBeGreaterThan(24 * 60);
  });
});
