import { expect, it } from 'vitest';
import { filledHarness, noon } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** Lives for two days after the fill; returns the calls of the second, and the harness. */
async function secondDay(budget: Record<string, unknown>, stack: AsyncDisposableStack) {
  const harness = stack.use(
    await filledHarness(
      { products: 10, lean: true, counts: 'none', changes: { median_hours: 12, sigma: 1, until: noon + 3 * day } },
      { budget: { requests_per_second: 10, concurrency: 4, ...budget } },
    ),
  );
  const { sandbox, clock } = harness;
  await harness.liveUntil(clock.now() + day);
  const { calls } = sandbox.calls.counts();
  await harness.liveUntil(clock.now() + day);
  return { harness, calls: sandbox.calls.counts().calls - calls };
}

it('idle calls are spent on dates that change, up to a multiple of what the cadences need, and none after back-pressure', async () => {
  await using stack = new AsyncDisposableStack();
  const [minimum, most] = [await secondDay({ share: 0 }, stack), await secondDay({ share: 0.25 }, stack)];
  expect(most.calls).toBeGreaterThan(3 * minimum.calls);
  expect(most.calls).toBeLessThan(5.5 * minimum.calls);

  const { harness } = most;
  const { clock, sandbox, daemon } = harness;
  const pressed = { ...daemon.limiter.learned(), pressed_at: clock.now() };
  Object.assign(daemon.ports, { budget: () => pressed });
  const { calls } = sandbox.calls.counts();
  await harness.liveUntil(clock.now() + hour);
  expect(sandbox.calls.counts().calls - calls).toBeLessThan((2 * minimum.calls) / 24 + 5);
});
