import { describe, expect, it } from 'vitest';
import { kind } from '../../src/sandbox/rough/quirks.ts';
import { openReader } from '../fakes/reader.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

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
