import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { type ProductPageOptions, productRoute } from '../../src/admin/page/product.ts';
import { now, view } from './known-status.ts';

type Found = Awaited<ReturnType<ProductPageOptions['find']>>;
type Hit = Found['hits'][number];

const zoo = {
  product_id: 703352,
  title: 'Amber Zoo <b>',
  city_name: 'London',
  sellable: 1,
  price: 1431,
  price_variant_type: 'adult',
  currency: 'EUR',
  checked_at: now - 60_000,
  stale: 0,
} as Hit;

/** Asks `/product` of a mirror in which each word finds so many products. */
async function ask(query: string, hits: readonly Hit[] = [], total = hits.length) {
  const asked: string[] = [];
  await using app = Fastify();
  productRoute(app, {
    product: (id) => (id === view.explanation.product_id ? view : null),
    find: async (text) => {
      asked.push(text);
      return { hits: [...hits], total, matched: [], dropped: [], meant: null, facets: null };
    },
    now: () => now,
  });
  const { statusCode, headers, body } = await app.inject(`/product${query}`);
  return { status: statusCode, location: headers.location, body, asked };
}

describe('the search for a product', () => {
  it('leads to the product where it finds one alone', async () => {
    const { status, location } = await ask('?q=zoo', [zoo]);
    expect([status, location]).toEqual([303, '/product?id=703352']);
  });

  it('lists what is found, with its state, and links each to its explanation', async () => {
    const closed = { ...zoo, product_id: 7, title: null, sellable: 0, price: null, stale: 1 } as Hit;
    const { status, body } = await ask('?q=%3Ci%3Ezoo', [zoo, closed], 40);
    expect(status).toBe(200);
    const text = body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/Products that match “&lt;i&gt;zoo” .* The first 2 of 40, the best match first/);
    expect(text).toMatch(
      /Amber Zoo &lt;b&gt; 703352 London 14\.31 EUR ✓ yes 1 min ago 7 7 London - ✗ no 1 min ago stale/,
    );
    expect(body).toContain('<a href="/product?id=703352">');
    expect(body).toContain('value="&lt;i&gt;zoo"');
    expect(body).not.toMatch(/<b>|<i>/);
  });
});
