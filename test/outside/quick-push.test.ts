import { expect, it } from 'vitest';
import { receiving, Stage } from './stage.ts';

/** Six pages of a list that is walked again in a week. */
const paged = { profile: { authorization: { header: null }, page_size: 5 } };

it('with only the calls of the specification closures are confirmed, an alternative is shown and a reopening seen, by one read of a page each', async () => {
  await using stage = await Stage.open({ service: ['--products', '30', '--hold', '1s'] });
  await stage.service.quirks({ endpoints: 'specification' });
  stage.configure({ ...(await receiving(stage)), service: { base_url: stage.service.url, ...paged } });
  await stage.filled();
  expect((await stage.run('subscription', 'apply')).code).toBe(0);
  const pages = async () => (await stage.service.calls()).by_kind['/v2/products'] ?? 0;
  const before = await pages();
  const all = stage.rows<{ product_id: number; sellable: number }>('SELECT product_id, sellable FROM products');
  const other = all.find(({ sellable }) => sellable === 1)?.product_id ?? 0;
  const page = await stage.service.get<{ products: { id: string; sale_status: string }[] }>(
    '/v2/products?lang=en&currency=EUR&page=5&page_size=5&sort=popularity+desc',
  );
  const onSale = page.products.filter(({ sale_status }) => sale_status === 'available');
  const closing = onSale.map(({ id }) => Number(id)).sort((a, b) => a - b);
  expect(closing.length).toBeGreaterThan(1);

  for (const id of closing)
    await stage.service.post(`/sandbox/products/${id}/disable`, { reason: 'out_of_season', alternative: other });
  await stage.rowsOnce(
    `SELECT 1 FROM products WHERE product_id IN (${closing}) AND sellable = 0 AND disabled_source = 'read'`,
    (rows) => rows.length === closing.length,
  );
  expect(
    stage.rows('SELECT product_id, alternative_product_id AS other FROM alternatives ORDER BY product_id'),
  ).toEqual(closing.map((product_id) => ({ product_id, other })));
  // The call of this test, and at most two of the daemon: some are announced while the page is read.
  expect((await pages()) - before).toBeLessThanOrEqual(3);

  const closed = all.find(({ sellable }) => sellable === 0)?.product_id ?? 0;
  await stage.service.post(`/sandbox/products/${closed}/enable`, {});
  await stage.rowsOnce(
    `SELECT 1 FROM products WHERE product_id = ${closed} AND sellable = 1 AND sale_status = 'enabled'`,
    (rows) => rows.length === 1,
  );
  await stage.rowsOnce(`SELECT 1 FROM bookable_days WHERE product_id = ${closed}`, (rows) => rows.length > 0);
});
