import { describe, expect, it } from 'vitest';
import { runSyncCycle } from '../../src/sync/engine.ts';
import { requestResync, resyncResources } from '../../src/sync/records/resync.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;
const hour = 3_600_000;

interface Price {
  readonly currency: string;
  readonly from_price: number | null;
  readonly checked_at: number;
  readonly stale: number;
}

const prices = ({ rows }: VirtualHarness, product_id: number) =>
  rows<Price>(
    'SELECT currency, from_price, checked_at, stale FROM product_prices WHERE product_id = ? ORDER BY currency',
    product_id,
  );

async function filled(config: { service: Record<string, unknown> }) {
  const harness = await filledHarness({ products: 6 }, config);
  await harness.liveUntil(harness.clock.now() + hour);
  const product = harness.sandbox.products().find(({ status, dynamic }) => status === 'available' && !dynamic);
  if (product === undefined) throw new Error('no product');
  return { harness, product };
}

const service = { currencies: ['EUR', 'USD', 'GBP'], profile: { authorization: { header: null } } };

describe('a price in a further currency', () => {
  it('comes with a resync of its product, and says when it was read', async () => {
    const { harness, product } = await filled({ service });
    await using _ = harness;
    const before = prices(harness, product.id);
    expect(before.map(({ currency }) => currency)).toEqual(['EUR', 'GBP', 'USD']);
    product.price *= 2;
    const asked_at = harness.clock.now();
    requestResync(harness.daemon.sync, {
      resources: resyncResources,
      product_ids: [product.id],
      from: null,
      to: null,
    });
    await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: never }));
    const after = prices(harness, product.id);
    for (const [index, price] of after.entries()) {
      expect(price.from_price).toBeGreaterThan((before[index]?.from_price ?? 0) * 1.9);
      expect(price.checked_at).toBeGreaterThanOrEqual(asked_at);
      expect(price.stale).toBe(0);
    }
  });

  it('says nothing of its product: texts, images and sale status stay those of the primary read', async () => {
    const { harness } = await filled({ service });
    await using _ = harness;
    const said = harness.rows("SELECT DISTINCT json_extract(document, '$.currency') AS currency FROM products");
    expect(said).toEqual([{ currency: 'EUR' }]);
  });
});
