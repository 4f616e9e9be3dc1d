import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const together = { rightly: 95, wrongly: 5, shown: 60, hidden: 40 };
const alone = { rightly: 95, wrongly: 5, shown: 1, hidden: 999 };

/**
 * Returns how many of a venue's other products were read within ten minutes after all of them changed and one was
 * found changed, where this is believed of siblings.
 */
async function readSoon(belief: typeof together) {
  await using harness = await filledHarness(
    { products: 8, lean: true, counts: 'none' },
    { budget: { requests_per_second: 10, concurrency: 4, share: 0.25 } },
  );
  const { clock, daemon, sandbox } = harness;
  const { mirror } = daemon;
  const subjects = ['venue near', 'venue far', 'supplier near', 'supplier far'] as const;
  mirror.transaction(() => {
    for (const subject of subjects) mirror.schedule.signals.save(subject, belief);
  });
  await harness.liveUntil(clock.now() + 7 * hour);
  const dates = (product_id: number) =>
    mirror.schedule.records.find({ resource: 'availability', product_id, edition: 'EUR', part: 0 });
  const groups = Map.groupBy(mirror.catalogue.products.ids(), (id) => mirror.schedule.siblings.groupsOf(id).supplier);
  const members = [...groups.values()].reduce((most, each) => (each.length > most.length ? each : most));
  const on = members.filter((id) => mirror.catalogue.products.find(id)?.sellable === true);
  const [first = 0, ...others] = on.filter((id) => id % 4 !== 0);
  for (const id of [first, ...others]) {
    const product = sandbox.world.find(id);
    if (product !== null) product.price += 100;
  }
  const at = clock.now();
  mirror.transaction(() =>
    mirror.schedule.records.bringForward(
      { kinds: [{ resource: 'availability', edition: 'EUR', part: 0 }], product_ids: [first] },
      at,
      'requested',
    ),
  );
  await harness.liveUntil(at + hour / 6);
  expect(dates(first)?.changed_at).toBeGreaterThanOrEqual(at);
  return { others: others.length, read: others.filter((id) => (dates(id)?.changed_at ?? 0) >= at).length };
}

it(
  'products of a supplier whose dates change together are read as soon as one of them is found changed; others are not',
  needs('time'),
  async () => {
    const [believed, not] = [await readSoon(together), await readSoon(alone)];
    expect(believed.others).toBeGreaterThan(0);
    expect(believed.read).toBe(believed.others);
    expect(not.read).toBeLessThan(not.others);
  },
);
