import { expect, it } from 'vitest';
import { untieredResources } from '../../src/domain/schedule/resources.ts';
import type { StaleAfter } from '../../src/mirror/schedule/stale.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;

/** Windows of dates and records say for themselves when they are stale, as it was when they were planned. */
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
    mirror.transaction(() => mirror.targets.write({ ...policy, cadence, of: () => ({ ...policy, cadence }) }, 31)),
  ).toBe(true);
  expect(Object.keys(before).length).toBeGreaterThan(4);
  expect(believedFor(harness)).toEqual({
    _product_text: [every('products')],
    price: [every('products')],
    product: [every('products')],
    _experience: [every('experiences')],
    checkout: [30 * hour, every('checkout_information')],
    _variant: [every('variants')],
  });
});
