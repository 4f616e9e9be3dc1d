import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { healthyDays } from './healthy.ts';

/** Its control is every planted failure: they are seen by the same looks. */
describe('a day beside a service with every habit that breaks no promise', needs('time'), () => {
  it('shows no condition at any of its looks, one each minute', { timeout: 300_000 }, async () => {
    const { looks, shown } = await healthyDays(1);
    expect(shown).toEqual([]);
    expect(looks).toBeGreaterThan(24 * 60);
  });
});
