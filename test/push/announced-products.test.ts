import { describe, expect, it } from 'vitest';
import { findProducts } from '../../src/catalogue/find-products.ask.ts';
import { withdraw } from '../fakes/planted.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';
import { DeliveryList, disabled, notificationOf, updated } from '../receiver/delivery-list.ts';

const never = new AbortController().signal;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** A filled mirror that has withdrawn one of the products: the service has it, and its list lacks it until `list` is called. */
async function withUnlisted(options: Partial<Parameters<typeof filledHarness>[0]> = {}) {
  const asked: string[] = [];
  const harness = await filledHarness(
    { lean: true, products: 12, served: ({ path }) => asked.push(path), ...options },
    { scheduling: 'fixed', cadence: { products: '7d' } },
  );
  await harness.live(2 * minute);
  const id = harness.sandbox.products().find(({ status }) => status === 'available')?.id ?? 0;
  const { faults } = harness.sandbox;
  const lied = faults.lied.bind(faults);
  let isListed = false;
  faults.lied = (method, address, body) => {
    const said = lied(method, address, body);
    if (isListed || !address.startsWith('/v2/products?')) return said;
    const { products, pagination, ...rest } = JSON.parse(said);
    const rows = products.filter((row: { id: string }) => row.id !== String(id));
    return JSON.stringify({ ...rest, products: rows, pagination: { ...pagination, total: pagination.total - 1 } });
  };
  withdraw(harness, id, harness.clock.now());
  await harness.live(2 * hour);
  const inbox = new DeliveryList(harness);
  asked.length = 0;
  const walks = () => harness.sandbox.calls.counts().by_kind['/v2/products'] ?? 0;
  const before = walks();
  return {
    harness,
    id,
    asked,
    list: () => {
      isListed = true;
    },
    announce: async (...changes: Record<string, unknown>[]) => {
      inbox.post(notificationOf(id, ...changes));
      await inbox.apply();
    },
    post: async (payload: unknown) => {
      inbox.post(payload);
      await inbox.apply();
    },
    live: harness.live,
    isShown: () => harness.products().includes(id),
    records: () => harness.explain(id).records.length,
    walks: () => walks() - before,
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
}

const unmet = ({ rows }: VirtualHarness) => rows('SELECT resource FROM freshness WHERE met = 0');

describe('an announced product that the mirror lacks', () => {
  it('is asked for by its own read, and shows once the list has it, hours later too', async () => {
    await using test = await withUnlisted();
    await test.announce(updated());
    await test.live(5 * minute);
    expect(test.asked).toContain(`/v2/products/${test.id}`);
    expect(test.walks()).toBeLessThanOrEqual(2);
    await test.live(3 * hour);
    expect(test.isShown()).toBe(false);
    expect(unmet(test.harness)).toEqual([]);
    test.list();
    await test.live(7 * hour);
    expect(test.isShown()).toBe(true);
    expect(unmet(test.harness)).toEqual([]);
    expect((await test.harness.compare()).first).toEqual([]);
  });

  it('shows within minutes where the list has it', async () => {
    await using test = await withUnlisted();
    test.list();
    await test.announce(updated());
    await test.live(5 * minute);
    expect(test.isShown()).toBe(true);
    expect((await test.harness.compare()).first).toEqual([]);
  });

  it('is asked for again where its own read comes from a cache that lacks it', async () => {
    await using test = await withUnlisted();
    const path = `^/v2/products/${test.id}\\?`;
    test.harness.sandbox.faults.add({ kind: 'status', status: 404, path, until_ms: 5 * minute });
    await test.announce(updated());
    await test.live(4 * minute);
    expect(test.isShown()).toBe(false);
    test.list();
    await test.live(20 * minute);
    expect(test.isShown()).toBe(true);
  });

  it('is forgotten after days in which no list brings it, and its closure is stored nowhere', async () => {
    await using test = await withUnlisted();
    await test.announce(disabled());
    await test.live(3 * day);
    expect(test.isShown()).toBe(false);
    expect(test.records()).toBe(0);
    expect(test.asked.filter((path) => path === `/v2/products/${test.id}`).length).toBeLessThan(8);
    expect(test.walks()).toBeLessThan(10);
    expect(test.harness.status().closures).toMatchObject({ unconfirmed: 0, held: 0 });
  });
});

it('ids that nobody has are asked for three times within the three tenths, and leave nothing behind', async () => {
  await using test = await withUnlisted();
  const { mirror, limiter } = test.harness.daemon;
  const asked = () => limiter.state().lanes.notification.calls;
  const before = asked();
  for (let each = 0; each < 20; each += 1)
    await test.post({ product_ids: Array.from({ length: 100 }, (_, id) => 10_000_000 + 100 * each + id) });
  expect(mirror.schedule.records.countAnnounced()).toBe(1000);
  await test.live(hour);
  expect(mirror.schedule.records.countAnnounced()).toBe(0);
  expect(asked() - before).toBeLessThan(3 * 1000 + 10);
  expect(test.walks()).toBe(1);
  expect(unmet(test.harness)).toEqual([]);
});

describe('a product that was withdrawn, and is asked for by name', () => {
  it('is asked for, and mirrored where the service has it', async () => {
    await using test = await withUnlisted();
    const { sync, writer } = test.harness.daemon;
    const find = () => test.harness.drive(findProducts(sync, [test.id], { writer, signal: never }));
    expect(await find()).toEqual([test.id]);
    expect(test.asked).toContain(`/v2/products/${test.id}`);
    expect(test.isShown()).toBe(true);
    expect(await find()).toEqual([]);
  });

  it('is refused (64) where the service does not have it', async () => {
    await using test = await withUnlisted();
    const { sync, writer } = test.harness.daemon;
    test.harness.sandbox.faults.add({ kind: 'status', status: 404, path: `^/v2/products/${test.id}` });
    const found = test.harness.drive(findProducts(sync, [test.id], { writer, signal: never }));
    await expect(found).rejects.toMatchObject({ code: 'unknown-product', exitCode: 64 });
    expect(test.isShown()).toBe(false);
  });
});
