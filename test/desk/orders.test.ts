import { expect, it } from 'vitest';
import { CheckDesk } from '../../src/desk/check.ts';
import { countOnceAndRecheck, type OrderReport, recheckOrder, reportOrder } from '../../src/desk/orders.ts';
import { believed } from '../../src/schedule/call-value.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const date = '2026-11-25';
const of = { resource: 'availability', edition: 'EUR', part: 0 } as const;

async function filled() {
  const harness = await filledHarness({ products: 4 });
  await harness.drive(harness.clock.sleep(3_600_000));
  const product = harness.sandbox.world
    .visible()
    .find((each) => harness.sandbox.world.days(each, date, date, 'EUR').length > 0);
  if (product === undefined) throw new Error('nothing is sold on that date');
  const failed: OrderReport = {
    product_id: product.id,
    date,
    quantity: 2,
    outcome: 'failed',
    code: 'variants_not_available',
  };
  return { harness, product, failed, desk: new CheckDesk(harness.daemon), key: { ...of, product_id: product.id } };
}

function rateOf({ daemon }: VirtualHarness, product_id: number): number {
  const record = daemon.mirror.schedule.records.find({ ...of, product_id });
  const { shape, exposure } = believed(record ?? { ...of, product_id, shape: null, exposure: null });
  return shape / exposure;
}

it('a failed order is read again at once in the checkout lane, and the mirror then has what the service says', async () => {
  const { harness, product, failed, desk, key } = await filled();
  await using _ = harness;
  product.sold_out.add(date);
  const noted = countOnceAndRecheck(desk, harness.daemon.inbox.orders, failed, never);
  expect(noted).toEqual({ due: 1, mirror: 'said-available', repeated: false });
  expect(harness.daemon.mirror.schedule.records.find(key)).toMatchObject({ due_reason: 'order-failed' });
  await harness.drive(harness.clock.sleep(5000));
  expect(harness.daemon.limiter.state().lanes.checkout.calls).toBeGreaterThanOrEqual(1);
  expect(harness.daemon.mirror.checks.date(product.id, 'EUR', date)).toMatchObject({ form: null });
  expect(harness.daemon.mirror.schedule.records.find(key)).toMatchObject({
    due_reason: expect.not.stringContaining('order'),
  });
});

it('a re-read says whether the service has answered it', async () => {
  const { harness, failed, desk } = await filled();
  await using _ = harness;
  const read = () => harness.drive(recheckOrder(desk, failed, never));
  expect(await read()).toBe(true);
  harness.sandbox.faults.add({ kind: 'html', path: 'availability' });
  expect(await read()).toBe(false);
});

it('the change that a failed order told of raises the volatility once, also when its re-read finds it', async () => {
  const [told, polled] = [await filled(), await filled()];
  await using first = told.harness;
  await using second = polled.harness;
  const before = rateOf(first, told.product.id);
  expect(rateOf(second, polled.product.id)).toBeCloseTo(before, 12);
  told.product.sold_out.add(date);
  polled.product.sold_out.add(date);
  reportOrder(told.desk.sync, told.failed);
  const raised = rateOf(first, told.product.id);
  expect(raised).toBeGreaterThan(before);
  reportOrder(told.desk.sync, told.failed);
  expect(rateOf(first, told.product.id)).toBe(raised);
  await first.drive(recheckOrder(told.desk, told.failed, never));
  await second.drive(recheckOrder(polled.desk, polled.failed, never));
  // As much as a poll teaches that finds the same change, and no more.
  expect(rateOf(first, told.product.id) / rateOf(second, polled.product.id)).toBeCloseTo(1, 3);
  expect(first.daemon.mirror.schedule.records.find(told.key)?.told_at).toBeNull();
});

it('orders are counted by what they say of the mirror, and nothing of them stands in it but counts', async () => {
  const { harness, product, failed, desk } = await filled();
  await using _ = harness;
  const { checks } = harness.daemon.mirror;
  reportOrder(desk.sync, { ...failed, outcome: 'confirmed', code: null, quantity: 3 });
  reportOrder(desk.sync, failed);
  reportOrder(desk.sync, { ...failed, time: '04:44', code: 'timeslot_not_available' });
  reportOrder(desk.sync, { ...failed, code: 'payment_declined' });
  reportOrder(desk.sync, { ...failed, code: null });
  expect(checks.ofProduct({ product_id: product.id })).toMatchObject([
    { tier: 'near', orders: 3, orders_wrong: 1, said_available: 1, tickets: 3, checks: 0, rate: 1 / 3 },
  ]);
  expect(harness.daemon.mirror.transaction(() => checks.prune({ day: Number.MAX_SAFE_INTEGER }))).toBe(1);
  expect(checks.ofProduct({ product_id: product.id })).toEqual([]);
});
