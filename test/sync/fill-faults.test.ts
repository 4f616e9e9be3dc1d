import { expect, test } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { thorough } from '../fakes/thorough.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

/** How long a fill takes, in virtual milliseconds, and how many differences it leaves. */
async function fill(share: number): Promise<{ ms: number; differences: number }> {
  await using harness = await virtualHarness(
    { products: thorough ? 300 : 200, faults: [{ kind: 'any', of: 'answers', share }], throttle: { per_second: 60 } },
    { budget: { requests_per_second: 55, concurrency: 8 } },
  );
  const began = harness.clock.now();
  await harness.fill();
  const ms = harness.clock.now() - began;
  const never = (await harness.compare()).differences;
  return { ms, differences: never };
}

test(
  'a fill in which one call in ten fails in seven ways takes at most half as long again, and leaves no difference',
  needs('time'),
  async () => {
    const clean = await fill(0);
    const faulted = await fill(0.1);
    expect(faulted.differences).toBe(0);
    expect(faulted.ms).toBeLessThanOrEqual(1.5 * clean.ms);
  },
);
