import { expect, it } from 'vitest';
import { reassignCategories } from '../../src/cycle/chores.ts';
import { reportOrder } from '../../src/desk/orders.ts';
import { filledHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const never = new AbortController().signal;

it('products of a category are read at its cadence, to its horizon, and move when they start to sell', async () => {
  const asked = new Map<string, number>();
  await using harness = await virtualHarness(
    {
      lean: true,
      products: 20,
      served: ({ path, query }) => {
        const [, id] = /products\/(\d+)\/availability/.exec(path) ?? [];
        if (id === undefined) return;
        const ahead = Math.round((Date.parse(query.get('start_date') ?? '') - harness.clock.now()) / (24 * hour) / 31);
        asked.set(`${id} ${ahead}`, (asked.get(`${id} ${ahead}`) ?? 0) + 1);
      },
    },
    {
      scheduling: 'fixed',
      categories: [
        {
          name: 'top',
          match: { top_sellers: 1 },
          weight: 3,
          cadence: { availability: { near: { every: '1h' } } },
          horizon: 150,
        },
        { name: 'nobody', match: { city_ids: [1] } },
      ],
    },
  );
  const { sync, mirror } = harness.daemon;
  await harness.fill();
  const [best, other] = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  if (best === undefined || other === undefined) throw new Error('too few products');
  const near = (id: number) => asked.get(`${id} 0`) ?? 0;
  expect(near(best.id)).toBe(1);
  expect(
    reportOrder(sync, { product_id: best.id, date: '2026-12-01', quantity: 4, outcome: 'confirmed', code: null }),
  ).toEqual({ due: 1, mirror: expect.stringMatching(/right|said-sold-out/) });
  await harness.drive(reassignCategories(sync, never));
  expect(mirror.catalogue.products.find(best.id)).toMatchObject({ category: 'top', sold: 4 });
  expect(harness.explain(other.id).category).toBeNull();
  expect(harness.explain(best.id).records.filter(({ resource }) => resource === 'availability')).toHaveLength(5);
  asked.clear();
  await harness.live(12 * hour);
  expect(near(best.id)).toBeGreaterThanOrEqual(12);
  expect(near(other.id)).toBeLessThanOrEqual(3);
  expect([3, 4].map((part) => asked.get(`${best.id} ${part}`))).toEqual([1, 1]);
  expect(asked.get(`${other.id} 3`)).toBeUndefined();
});

it('an order makes the dates around it due at once, and a date that is not mirrored is refused', async () => {
  await using harness = await filledHarness({ lean: true, products: 5 });
  const { sync, mirror } = harness.daemon;
  const [product] = harness.sandbox.world.visible();
  const order = {
    product_id: product?.id ?? 0,
    quantity: 1,
    outcome: 'failed',
    code: 'timeslot_not_available',
  } as const;
  reportOrder(sync, { ...order, date: '2026-12-28' });
  const due = mirror.schedule.records
    .ofProduct(order.product_id)
    .filter(({ due_reason }) => due_reason === 'order-failed');
  expect(due).toMatchObject([{ resource: 'availability', part: 1, lane: 'checkout' }]);
  expect(mirror.catalogue.products.find(order.product_id)?.sold).toBe(0);
  expect(() => reportOrder(sync, { ...order, date: '2026-11-01' })).toThrow('date 2026-11-01 is in the past');
  expect(() => reportOrder(sync, { ...order, date: '2027-12-01' })).toThrow('is beyond the horizon');
  expect(() => reportOrder(sync, { ...order, product_id: 1, date: '2026-12-01' })).toThrow(
    'product 1 is not in the mirror',
  );
});
