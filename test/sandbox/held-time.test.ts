import { expect, it } from 'vitest';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { startCallback } from './callback.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

it('what is held and what is tried again goes on while a harness lives, and stops no one who has nothing to do', async () => {
  await using harness = await virtualHarness({ products: 6, lean: true });
  const { sandbox, clock } = harness;
  await using callback = await startCallback(clock, [500, 500]);
  const [{ id = 0 } = {}] = sandbox.world.visible();
  await fetch(`${sandbox.url}/v2/product-change-notification/s`, {
    method: 'PUT',
    body: JSON.stringify({
      subscription_type: 'product_ids',
      entity_ids: [id],
      change_types: ['product_details_update'],
      callback_url: callback.url,
    }),
  });
  await harness.fill();
  const began = clock.now();
  sandbox.world.edit(id, { field: 'title', value: 'Other' });
  // Work that ends at once moves no clock, although somebody sleeps on it.
  expect(await harness.drive(Promise.resolve(7))).toBe(7);
  expect(clock.now()).toBe(began);
  await harness.liveUntil(began + 7 * minute);
  expect(callback.received.map(({ at }) => at - began)).toEqual([5 * minute, 5 * minute + 20_000, 6 * minute]);
  // A degraded subscription waits for its month without a sleeper.
  callback.answers.push(...Array.from({ length: 6 }, () => 500));
  sandbox.world.edit(id, { field: 'title', value: 'Another' });
  await harness.liveUntil(clock.now() + 20 * minute);
  expect(sandbox.subscriptions()).toMatchObject([{ status: 'degraded', pending: 0, held: 0 }]);
  expect(clock.pending()).toBe(0);
  await harness.drive(clock.sleep(30 * day));
  expect(sandbox.subscriptions()).toMatchObject([{ status: 'cancelled' }]);
});
