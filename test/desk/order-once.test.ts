import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { countOnce, type IdentifiedOrder, orderMemoryMs } from '../../src/desk/orders.ts';
import { instant } from '../../src/kernel/clock.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

async function filled() {
  const harness = await filledHarness({ lean: true, products: 4 });
  const [product] = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  if (product === undefined) throw new Error('too few products');
  const order: IdentifiedOrder = {
    product_id: product.id,
    date: '2026-11-25',
    quantity: 2,
    outcome: 'confirmed',
    code: null,
    order_id: 'order-2026-1234567',
  };
  return { harness, order };
}

function tell({ daemon }: VirtualHarness, order: IdentifiedOrder) {
  return countOnce(daemon.sync, daemon.inbox.orders, order);
}

function counted({ daemon }: VirtualHarness, { product_id }: IdentifiedOrder) {
  const rows = daemon.mirror.checks.ofProduct({ product_id });
  return {
    sold: daemon.mirror.catalogue.products.find(product_id)?.sold,
    orders: rows.reduce((sum, row) => sum + row.orders, 0),
  };
}

it('an order with an id counts once, however often it is sent; one without counts each time (control)', async () => {
  const { harness, order } = await filled();
  await using _ = harness;
  expect(tell(harness, order)).toMatchObject({ repeated: false, due: 1 });
  for (let again = 0; again < 3; again += 1)
    expect(tell(harness, { ...order, time: null })).toEqual({ repeated: true, due: 0, mirror: null });
  expect(counted(harness, order)).toEqual({ sold: 2, orders: 1 });
  await harness.restart();
  expect(tell(harness, order)).toMatchObject({ repeated: true });
  expect(tell(harness, { ...order, order_id: 'another' })).toMatchObject({ repeated: false });
  expect(counted(harness, order)).toEqual({ sold: 4, orders: 2 });
  const { order_id: _id, ...nameless } = order;
  tell(harness, nameless);
  tell(harness, nameless);
  expect(counted(harness, order)).toEqual({ sold: 8, orders: 4 });
});

it('the same id with other contents is refused, and nothing of it counts', async () => {
  const { harness, order } = await filled();
  await using _ = harness;
  tell(harness, order);
  const others: Partial<IdentifiedOrder>[] = [
    { quantity: 3 },
    { date: '2026-11-26' },
    { time: '10:00' },
    { outcome: 'failed' },
    { product_id: 1 },
  ];
  for (const other of others)
    expect(() => tell(harness, { ...order, ...other })).toThrow(
      expect.objectContaining({ code: 'order-differs', exitCode: 64 }),
    );
  expect(counted(harness, order)).toEqual({ sold: 2, orders: 1 });
});

it('an order that a kill ended between the two files counts when it is sent again', async () => {
  const { harness, order } = await filled();
  await using _ = harness;
  vi.spyOn(harness.daemon.mirror, 'transaction').mockImplementationOnce(() => {
    throw new Error('killed');
  });
  expect(() => tell(harness, order)).toThrow('killed');
  // Another one comes first: its number must not make the lost one look counted.
  tell(harness, { ...order, order_id: 'in between' });
  await harness.restart();
  expect(tell(harness, order)).toMatchObject({ repeated: false });
  expect(tell(harness, order)).toMatchObject({ repeated: true });
  expect(counted(harness, order)).toEqual({ sold: 4, orders: 2 });
});

it('ids are kept for 400 days, as hashes in the inbox, and nothing of them in the mirror', async () => {
  const { harness, order } = await filled();
  await using _ = harness;
  tell(harness, order);
  const { mirror, inbox, sync } = harness.daemon;
  expect(orderMemoryMs).toBe(400 * 86_400_000);
  expect(inbox.orders.prune(sync.clock.now())).toBe(0);
  const files = [mirror.path, inbox.path].flatMap((path) => [path, `${path}-wal`]);
  const bytes = files.map((path) => readFileSync(path, 'latin1'));
  const holding = (text: string) => files.filter((_file, index) => bytes[index]?.includes(text));
  expect(holding('order-2026-1234567')).toEqual([]);
  const { createHash } = await import('node:crypto');
  const hashed = createHash('sha256').update('order-2026-1234567').digest('hex');
  expect(holding(hashed).every((path) => path.startsWith(inbox.path))).toBe(true);
  // The control: what was searched is what was written.
  expect(holding(hashed)).not.toEqual([]);
  expect(inbox.orders.prune(instant(sync.clock.now() + 1))).toBe(1);
  expect(tell(harness, order)).toMatchObject({ repeated: false });
});
