import { expect, it } from 'vitest';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;

it('a date that midnight moves into another window is not forgotten where the read before midnight comes after it', async () => {
  await using harness = await filledHarness({ lean: true, products: 12, counts: 'none' }, { scheduling: 'fixed' });
  const { sandbox, clock, daemon } = harness;
  await harness.liveUntil(Math.ceil(clock.now() / hour) * hour);
  const reader = openMirrorWithClock(daemon.config.mirror.path);
  using _ = { [Symbol.dispose]: () => void reader.db.close() };
  const stale = reader.db.prepare<[], { product_id: number; date: string }>(
    'SELECT DISTINCT product_id, date FROM availability_days WHERE stale = 1',
  );
  const found: unknown[] = [];
  // Midnight comes at a full hour everywhere in the sandbox: the service is away before and after it.
  for (let passed = 0; passed < 72; passed += 1) {
    await harness.live(5 * minute);
    await sandbox.setReachable('yes');
    await harness.live(20 * minute);
    reader.set(clock.now());
    for (const row of stale.all()) found.push({ passed, ...row });
    await sandbox.setReachable('no');
    await harness.live(35 * minute);
  }
  expect(found).toEqual([]);
});

it('a fill during which midnight comes leaves out no date: what was read before it is read again', async () => {
  // Midnight in Pago Pago at 11:00, at which the near dates of its products have been read and the far ones have not.
  await using harness = await filledHarness(
    { lean: true, products: 60, counts: 'none' },
    { scheduling: 'fixed', budget: { requests_per_second: 1, concurrency: 4 } },
    { start: Date.parse('2026-11-21T10:58:00Z') },
  );
  await harness.live(5 * minute);
  expect((await harness.compare()).first).toEqual([]);
});
