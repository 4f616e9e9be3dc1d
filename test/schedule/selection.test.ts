import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const day = 86_400_000;

/** Two products of one city, a third that the filter leaves out, and what the list of the service would hold of them. */
async function selective(): Promise<{ harness: VirtualHarness; select: Record<string, unknown>; ids: number[] }> {
  const select: Record<string, unknown> = {};
  const harness = await virtualHarness({ lean: true, products: 12 }, { service: { ...profile, select } });
  const open = harness.sandbox.products().filter(({ status, withdrawn }) => status === 'available' && !withdrawn);
  const three = open.slice(0, 3);
  for (const product of harness.sandbox.products()) Object.assign(product, { city_id: 1 });
  for (const product of three.slice(0, 2)) Object.assign(product, { city_id: 2 });
  return { harness, select, ids: three.map(({ id }) => id) };
}

const profile = { profile: { authorization: { header: null } } };

function mirrored({ daemon }: VirtualHarness): number[] {
  const db = new Database(daemon.config.mirror.path, { readonly: true });
  try {
    return db.prepare<[], number>('SELECT product_id FROM products ORDER BY product_id').pluck().all();
  } finally {
    db.close();
  }
}

function soldDates({ daemon }: VirtualHarness, id: number): number {
  const db = new Database(daemon.config.mirror.path, { readonly: true });
  const sold = db.prepare<[number], number>(
    "SELECT count(*) FROM availability_days WHERE product_id = ? AND state = 'available'",
  );
  try {
    return sold.pluck().get(id) ?? 0;
  } finally {
    db.close();
  }
}

it('a filter of the list decides what is mirrored, and two keys say what is mirrored and what is not whatever it says', async () => {
  const { harness, select, ids } = await selective();
  await using _ = harness;
  const [kept = 0, excluded = 0, included = 0] = ids;
  const unknown = 999;
  Object.assign(select, {
    city_id: [2],
    include_product_ids: [included, unknown, excluded],
    exclude_product_ids: [excluded],
  });
  await harness.restart();
  await harness.fill();
  expect(mirrored(harness)).toEqual([kept, included].sort());
  expect(soldDates(harness, included)).toBeGreaterThan(0);
  // Each list lacks it, and its own read has it.
  await harness.live(15 * day);
  expect(mirrored(harness)).toEqual([kept, included].sort());
  expect(harness.daemon.mirror.catalogue.removals.absent()).toEqual([]);
  const product = harness.sandbox.world.find(included);
  if (product === null) throw new Error('no product');
  product.withdrawn = true;
  await harness.live(8 * day);
  expect(mirrored(harness)).toEqual([kept]);
  // What the service does not have is asked for, and is no broken promise.
  expect((await harness.daemon.status.shown()).conditions).toEqual([]);
  expect(harness.log.lines()).toContainEqual(
    expect.objectContaining({ product_id: unknown, msg: expect.stringContaining('the service does not have') }),
  );
  product.withdrawn = false;
  await harness.live(8 * day);
  expect(mirrored(harness)).toEqual([kept, included].sort());
  expect(soldDates(harness, included)).toBeGreaterThan(0);
});

it('a product that is excluded later is withdrawn at once, and back with the next list where it no longer is', async () => {
  const { harness, select, ids } = await selective();
  await using _ = harness;
  const [one = 0, other = 0] = ids;
  select.city_id = [2];
  await harness.restart();
  await harness.fill();
  expect(mirrored(harness)).toEqual([one, other].sort());
  select.exclude_product_ids = [other];
  await harness.restart();
  expect(mirrored(harness)).toEqual([one]);
  await harness.live(8 * day);
  expect(mirrored(harness)).toEqual([one]);
  select.exclude_product_ids = [];
  await harness.restart();
  await harness.live(8 * day);
  expect(mirrored(harness)).toEqual([one, other].sort());
});
