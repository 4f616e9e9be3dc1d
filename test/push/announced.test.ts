import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { CheckDesk } from '../../src/desk/check.ts';
import { healGaps, noteAbsence } from '../../src/push/coverage.ts';
import { laneOf } from '../../src/schedule/lanes.rules.ts';
import { productResources } from '../../src/schedule/resources.rules.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { DeliveryList, disabled, notificationOf } from '../receiver/delivery-list.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

/** The mirror's tables, open for writing beside the daemon. */
function open({ daemon }: VirtualHarness): Database.Database & Disposable {
  const db = new Database(daemon.config.mirror.path);
  return Object.assign(db, { [Symbol.dispose]: () => db.close() });
}

describe('after a gap', () => {
  it('the list is walked first, ahead of every sweep, and dates are read again too', async () => {
    const categories = [{ name: 'far', match: { product_ids: [703_352] }, horizon: 124 }];
    await using harness = await filledHarness({ lean: true, products: 12 }, { categories });
    const { mirror, sync } = harness.daemon;
    const ids = mirror.catalogue.products.ids();
    using db = open(harness);
    const writer = (text: string) => db.prepare(text).run();
    writer(
      "INSERT INTO _subscription (subscription_id, declared_id, type, status, address) VALUES ('all', 'all', 'product_ids', 'active', 'ours')",
    );
    for (const id of ids)
      writer(`INSERT INTO _subscription_product (subscription_id, product_id) VALUES ('all', ${id})`);
    noteAbsence(sync, harness.clock.now() - 6 * hour);
    const list = mirror.schedule.records.find({ resource: 'products', product_id: 0, edition: 'en/EUR', part: 0 });
    expect(list).toMatchObject({ due_reason: 'gap-healing', due_at: harness.clock.now() });
    healGaps(sync);
    const id = 703_352;
    const healing = harness.explain(id).records.filter(({ due_reason }) => due_reason === 'gap-healing');
    expect(healing.map(({ from }) => from)).toContain('2027-02-22');
    expect(new Set(healing.map(({ resource }) => resource))).toEqual(new Set(productResources));
  });

  it('only the list is in the lane of notifications', () => {
    expect(laneOf({ resource: 'products', edition: 'en/EUR', part: 0 }, 'gap-healing')).toBe('notification');
    expect(laneOf({ resource: 'checkout_information', edition: 'en', part: 0 }, 'gap-healing')).toBe('weekly');
    expect(laneOf({ resource: 'availability', edition: 'EUR', part: 1 }, 'gap-healing')).toBe('far');
  });
});

it.each([
  [410, 'gone', 'withdrawn'],
  [404, 'gone', 'not-found'],
] as const)('a check that is answered %i is %s (%s)', async (gone, verdict, reason) => {
  await using harness = await filledHarness({ lean: true, products: 6, gone });
  await using desk = new CheckDesk(harness.daemon);
  const [product] = harness.sandbox.world.visible();
  if (product === undefined) throw new Error('no product');
  product.withdrawn = true;
  const question = { product_id: product.id, date: '2026-12-05' };
  const answer = await harness.drive(desk.check(question, never));
  expect(answer).toMatchObject({ verdict, reasons: [reason], now: null });
  expect(harness.products().includes(product.id)).toBe(true);
  if (gone === 410) return;
  // Two lists without it, while removals are held: nothing is withdrawn, but nobody sells it either.
  const now = harness.clock.now();
  harness.daemon.mirror.transaction(
    () =>
    harness.daemon.mirror.evidence.putHold({
      subject: 'products', opened_at: now, state: 'held', next_at: now, sampled_at: null, sample: [],
      shares: [], decision: null, decided_until: null, ended_at: null,
      likeness: null,
    }), // biome-ignore format: one row
  );
  using db = open(harness);
  db.prepare("INSERT OR REPLACE INTO _absence VALUES ('products', ?, 2, 0, 0, 'gone', 0)").run(product.id);
  expect(await harness.drive(desk.check(question, never))).toMatchObject({ verdict: 'gone' });
});

it.each(['flag', 'refuse'] as const)(
  'a closure reads the product once, where dates are answered by %s',
  async (how) => {
    await using harness = await filledHarness({ lean: true, products: 12, disabled: how }, { scheduling: 'fixed' });
    await harness.live(hour);
    const product = harness.sandbox.world.visible().find(({ status }) => status === 'available');
    if (product === undefined) throw new Error('no product');
    product.status = 'unavailable';
    harness.sandbox.calls.reset();
    const inbox = new DeliveryList(harness);
    inbox.post(notificationOf(product.id, disabled()));
    await inbox.apply();
    await harness.live(hour / 2);
    const reads = [...harness.sandbox.calls.repeated().keys()].filter((url) =>
      url.startsWith(`/v2/products/${product.id}?`),
    );
    expect(reads).toEqual([]);
    expect(harness.explain(product.id).closures).toMatchObject([{ confirmed_at: expect.any(Number) }]);
  },
);
