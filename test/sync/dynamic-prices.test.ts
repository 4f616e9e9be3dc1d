import { expect, it } from 'vitest';
import { virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** What a sale needs to know is asked for weekly, of a product with dynamic prices daily (specification §1 rule 3). */
it('checkout information of dynamic prices is read, and believed, for a day, and of all others for a week', async () => {
  const asked = new Map<number, number>();
  await using harness = await virtualHarness(
    {
      lean: true,
      products: 12,
      served: ({ path }) => {
        const [, id] = /products\/(\d+)\/checkout_information/.exec(path) ?? [];
        if (id !== undefined) asked.set(Number(id), (asked.get(Number(id)) ?? 0) + 1);
      },
    },
    { scheduling: 'fixed' },
  );
  const { mirror } = harness.daemon;
  await harness.fill();
  asked.clear();
  await harness.liveUntil(harness.clock.now() + 4 * day);
  const products = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  expect(new Set(products.map(({ dynamic }) => dynamic)).size).toBe(2);
  for (const { id, dynamic } of products) {
    const reads = asked.get(id) ?? 0;
    const record = mirror.schedule.records.ofProduct(id).find(({ resource }) => resource === 'checkout_information');
    expect(record?.stale_at, `${id}`).toBe((record?.fetched_at ?? 0) + (dynamic ? day : 7 * day));
    if (dynamic) expect(reads, `${id}`).toBeGreaterThanOrEqual(4);
    else expect(reads, `${id}`).toBeLessThanOrEqual(1);
  }
});
