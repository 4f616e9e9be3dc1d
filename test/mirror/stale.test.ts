import { expect, it } from 'vitest';
import { cadenceOfDay } from '../../src/domain/catalogue/availability.ts';
import { untieredResources } from '../../src/domain/schedule/resources.ts';
import type { StaleAfter } from '../../src/mirror/schedule/stale.ts';
import { replan } from '../../src/sync/records/replan.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;

/** Windows of dates and records follow when their product is planned again (the next test). */
const byTheirOwn = ['date_window', '_record'];

/** How long after its read a row of each table is stale, by table. */
function believedFor({ daemon, clock }: VirtualHarness): Record<string, number[]> {
  const db = openMirrorAt(daemon.mirror.path, clock.now());
  const tables = db
    .prepare<[], { table: string; read: string }>(
      `SELECT t.name AS "table", min(r.name) AS read FROM pragma_table_list t
       JOIN pragma_table_xinfo(t.name) s ON s.name = 'stale_at'
       JOIN pragma_table_xinfo(t.name) r ON r.name IN ('checked_at', 'read_at') WHERE t.type = 'table' GROUP BY t.name`,
    )
    .all();
  const found = tables
    .filter(({ table }) => !byTheirOwn.includes(table))
    .map(({ table, read }) => [
      table,
      db.prepare<[], number>(`SELECT DISTINCT stale_at - ${read} FROM ${table} ORDER BY 1`).pluck().all(),
    ]);
  db.close();
  return Object.fromEntries(found);
}

it('every table whose rows say when they are stale follows a new cadence of its resource, and no other', async () => {
  await using harness = await filledHarness({ products: 6 });
  const { mirror, ports } = harness.daemon;
  const { policy } = ports;
  const every = (resource: string) => 100 * hour + untieredResources.indexOf(resource as never) * hour;
  const own = Object.fromEntries(untieredResources.map((resource) => [resource, every(resource)]));
  const cadence = {
    ...policy.cadence,
    ...own,
    dynamic_pricing: { ...own, checkout_information: 30 * hour },
  } as StaleAfter;
  const before = believedFor(harness);
  expect(
    mirror.transaction(() =>
      mirror.schedule.targets.write({ ...policy, cadence, of: () => ({ ...policy, cadence }) }, 31),
    ),
  ).toBe(true);
  expect(Object.keys(before).length).toBeGreaterThan(4);
  expect(believedFor(harness)).toEqual({
    _product_text: [every('products')],
    price: [every('products')],
    product: [every('products')],
    _experience: [every('experiences')],
    _tag: [every('tags')],
    checkout: [30 * hour, every('checkout_information')],
    _variant: [every('variants')],
  });
});

it('dates and their records follow a new cadence of their tier, so that none is shown as stale before it is late', async () => {
  await using harness = await filledHarness({ products: 6 });
  const { mirror, ports } = harness.daemon;
  const believed = () => {
    const db = openMirrorAt(mirror.path, harness.clock.now());
    const shown = db.prepare<[], number>(
      'SELECT DISTINCT (stale_at - checked_at) / 3600000 FROM date_window ORDER BY 1',
    );
    const planned = db.prepare<[], number>(
      "SELECT DISTINCT (stale_at - fetched_at) / 3600000 FROM _record WHERE resource = 'availability' ORDER BY 1",
    );
    const found = { shown: shown.pluck().all(), planned: planned.pluck().all() };
    db.close();
    return found;
  };
  expect(believed()).toEqual({ shown: [6, 12, 24], planned: [6, 24] });
  const { near, middle, far } = ports.policy.cadence.availability;
  const availability = {
    ...ports.policy.cadence.availability,
    near: { ...near, every: 30 * hour },
    middle: { ...middle, every: 40 * hour },
    far: { ...far, every: 50 * hour },
  };
  const cadence = { ...ports.policy.cadence, availability };
  const extent = {
    ...ports.policy.extent,
    windows: ports.policy.extent.windows.map((each) => ({
      ...each,
      every: cadenceOfDay(availability, each.first_day),
    })),
  };
  const policy = { ...ports.policy, cadence, extent, of: () => ({ ...ports.policy, cadence, extent }) };
  mirror.transaction(() => replan({ ...ports, policy }, mirror.catalogue.products.ids()));
  expect(believed()).toEqual({ shown: [30, 40, 50], planned: [30, 50] });
});
