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
  it('begins with a field that has the focus', async () => {
    for (const query of ['', '?q=', '?q=%20'])
      expect(await ask(query)).toMatchObject({
        status: 200,
        body: expect.stringMatching(/<input type="search" id="q"[^>]* autofocus>/),
        asked: [],
      });
  });

  it('leads to the product whose id was typed, or that is found alone', async () => {
    const there = { status: 303, location: `/product?id=${view.explanation.product_id}` };
    expect(await ask(`?q=%20${view.explanation.product_id}`)).toMatchObject({ ...there, asked: [] });
    expect(await ask('?q=amber%20zoo', [zoo])).toMatchObject({
      status: 303,
      location: '/product?id=703352',
      asked: ['amber zoo'],
    });
  });

  it('searches for a number that is no id of a product', async () => {
    expect((await ask('?q=1900', [zoo])).asked).toEqual(['1900']);
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

  it('says so where nothing is found, and keeps the words in the field', async () => {
    const { status, body } = await ask('?q=qwertz');
    expect([status, /<h1>([^<]+)</.exec(body)?.[1]]).toEqual([404, 'No product matches “qwertz”']);
    expect(body).toContain('value="qwertz"');
  });
});
