import { describe, expect, it } from 'vitest';
import { pass } from '../../src/sync/engine.ts';
import { requestResync, resyncResources } from '../../src/sync/records/resync.ts';
import { makePlan } from '../../src/sync/reports/plan.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { type VirtualHouse, virtualHouse } from '../fakes/virtual-house.ts';

const never = new AbortController().signal;
const hour = 3_600_000;

interface Price {
  readonly currency: string;
  readonly from_price: number | null;
  readonly checked_at: number;
  readonly stale: number;
}

function prices({ wiring, clock }: VirtualHouse, product_id: number): Price[] {
  const db = openMirrorAt(wiring.mirror.path, clock.now());
  const rows = db
    .prepare<[number], Price>(
      'SELECT currency, from_price, checked_at, stale FROM product_prices WHERE product_id = ? ORDER BY currency',
    )
    .all(product_id);
  db.close();
  return rows;
}

async function filled(config: { service: Record<string, unknown> }) {
  const house = await virtualHouse({ products: 6 }, config);
  await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
  await house.liveUntil(house.clock.now() + hour);
  const product = house.sandbox.products().find(({ status, dynamic }) => status === 'available' && !dynamic);
  if (product === undefined) throw new Error('no product');
  return { house, product };
}

const service = { currencies: ['EUR', 'USD', 'GBP'], profile: { authorization: { header: null } } };

describe('a price in a further currency', () => {
  it('comes with a resync of its product, and says when it was read', async () => {
    const { house, product } = await filled({ service });
    await using _ = house;
    const before = prices(house, product.id);
    expect(before.map(({ currency }) => currency)).toEqual(['EUR', 'GBP', 'USD']);
    product.price *= 2;
    const asked_at = house.clock.now();
    requestResync(house.wiring.ports, {
      resources: resyncResources,
      product_ids: [product.id],
      from: null,
      to: null,
    });
    await house.drive(pass(house.wiring.ports, 4, { job_id: null, signal: never }));
    const after = prices(house, product.id);
    for (const [index, price] of after.entries()) {
      expect(price.from_price).toBeGreaterThan((before[index]?.from_price ?? 0) * 1.9);
      expect(price.checked_at).toBeGreaterThanOrEqual(asked_at);
      expect(price.stale).toBe(0);
    }
  });

  it('comes with a notification, as the first does', async () => {
    const { house, product } = await filled({ service });
    await using _ = house;
    const now = house.clock.now();
    product.price *= 2;
    house.wiring.mirror.transaction(() => house.wiring.mirror.records.notify([product.id], now, now));
    await house.drive(pass(house.wiring.ports, 4, { job_id: null, signal: never }));
    expect(prices(house, product.id).every(({ checked_at }) => checked_at >= now)).toBe(true);
  });

  it('says nothing of its product: texts, images and sale status stay those of the primary read', async () => {
    const { house } = await filled({ service });
    await using _ = house;
    const db = openMirrorAt(house.wiring.mirror.path, house.clock.now());
    const said = db
      .prepare<[], { currency: string }>(
        "SELECT DISTINCT json_extract(document, '$.currency') AS currency FROM products",
      )
      .all();
    db.close();
    expect(said).toEqual([{ currency: 'EUR' }]);
  });

  it('stands in the plan with what it costs', async () => {
    const { house } = await filled({ service });
    await using _ = house;
    const { mirror, policy } = house.wiring.ports;
    const shares = { checkout: 0, notification: 0, reopening: 0, near: 0, far: 0, weekly: 0, fill: 0 };
    const line = makePlan({ mirror, policy }, shares).lines.find(({ what }) => what === 'prices in further currencies');
    expect(line).toMatchObject({ records: 12 });
    expect(line?.calls_per_day).toBeGreaterThan(0);
  });
});
