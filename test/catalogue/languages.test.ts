import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { kind } from '../../src/sandbox/rough/quirks.ts';
import { openReader } from '../fakes/reader.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const languages = ['en', 'nl'];

/** A service that has Dutch texts of every second product; filled. */
async function halfDutch(endpoints: 'all' | 'specification'): Promise<VirtualHarness> {
  const harness = await virtualHarness(
    { products: 16, quirks: { ...kind, endpoints } },
    { service: { languages, profile: { authorization: { header: null } } } },
  );
  for (const [index, product] of harness.sandbox.world.visible().entries()) product.untranslated = index % 2 === 0;
  await harness.fill();
  return harness;
}

describe.each(['all', 'specification'] as const)(
  'of a service with the endpoints of %s, half of it without Dutch',
  (endpoints) => {
    it('every product has a row in Dutch, which says in which language its texts are', async () => {
      await using harness = await halfDutch(endpoints);
      using reader = openReader(harness.daemon.config.mirror.path, { language: 'nl' });
      const products = harness.sandbox.world.visible();
      expect(reader.products()).toHaveLength(products.length);
      for (const { id, untranslated } of products) {
        const [dutch, english] = [reader.product(id), reader.product(id, { language: 'en' })];
        expect(dutch).toMatchObject({ language: 'nl', language_shown: untranslated ? 'en' : 'nl' });
        expect(english).toMatchObject({ language: 'en', language_shown: 'en' });
        expect(dutch?.title === english?.title, String(id)).toBe(untranslated);
        expect(dutch?.sellable).toBe(english?.sellable);
        expect(reader.checkoutInformation(id)).toMatchObject({ language: 'nl' });
      }
    });

    it('a product without Dutch texts is found in Dutch by its English words', async () => {
      await using harness = await halfDutch(endpoints);
      using reader = openReader(harness.daemon.config.mirror.path, { language: 'nl' });
      for (const { id, title } of harness.sandbox.world.visible().filter(({ untranslated }) => untranslated)) {
        const text = title.split(':')[0];
        expect(
          reader.search({ text, limit: 100 }).hits.map(({ product_id }) => product_id),
          title,
        ).toContain(id);
        expect(
          reader.exact({ text: text ?? '', limit: 100 }).map(({ product_id }) => product_id),
          title,
        ).toContain(id);
      }
      expect(reader.search().total).toBe(harness.sandbox.world.visible().length);
    });
  },
);

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
  await harness.live(hour);
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
