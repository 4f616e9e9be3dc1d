import { expect, it } from 'vitest';
import { type ChangeType, changeTypes } from '../../src/push/subscription.rules.ts';
import type { World } from '../../src/sandbox/world/world.ts';
import { type NotifiedHarness, notifiedHarness } from '../fakes/notified-harness.ts';
import { someOf } from '../fakes/thorough.ts';

const hour = 3_600_000;

/** What happens to a product so that the service announces a change of each type. */
const happens: Readonly<Record<ChangeType, (world: World, product_id: number) => void>> = {
  checkout_disabled: (world, id) => world.disable(id, { reason: 'temporary_closure' }),
  checkout_enabled: (world, id) => world.enable(id),
  product_details_update: (world, id) => world.edit(id, { field: 'whats_included', value: '* A lamp' }),
};

function trustOf({ query }: NotifiedHarness) {
  const [trust] = query<{ announced: number; announceable: number }>(
    'SELECT announced, announceable FROM _subscription',
  );
  return trust ?? { announced: 0, announceable: 0 };
}

it.each(someOf(changeTypes))(
  '%s can be subscribed to; the service announces it, the mirror notes it, and the read behind it counts as announced',
  async (change_type) => {
    await using test = await notifiedHarness();
    const [id = 0] = test.ids();
    const { world } = test.harness.sandbox;
    expect(test.harness.sandbox.subscriptions()).toMatchObject([
      { change_types: expect.arrayContaining([change_type]) },
    ]);
    if (change_type === 'checkout_enabled') {
      world.disable(id, { reason: 'temporary_closure' });
      await test.live(3 * hour);
    }
    const before = trustOf(test);
    happens[change_type](world, id);
    await test.live(hour / 2);
    const noted = test.query<{ change_type: string }>(`SELECT change_type FROM _notice WHERE product_id = ${id}`);
    expect(noted.map((notice) => notice.change_type)).toContain(change_type);
    await test.live(2 * hour);
    const { announced, announceable } = trustOf(test);
    expect(announceable).toBeGreaterThan(before.announceable);
    expect(announced).toBe(announceable);
  },
);
