import { expect, it } from 'vitest';
import { happens, Stage } from './stage.ts';

interface Held {
  readonly subject: string;
  readonly claiming: number;
}

it('an empty list withdraws no product that its own read still shows, though a person believes the list, and the one that is gone goes', async () => {
  await using stage = await Stage.open({ service: ['--products', '12'] });
  await stage.filled();
  const ids = stage.rows<{ product_id: number }>('SELECT product_id FROM products ORDER BY 1');
  const missing = async () => (await stage.json<{ held: Held[] }>('held', 'list')).held.map(({ subject }) => subject);
  const emptied = { kind: 'empty-list', path: '^/v2/products[?]' };
  await stage.service.quirks({ faults: [emptied] });

  expect((await stage.run('resync', '--products', '--wait')).code).toBe(0);
  expect(stage.rows('SELECT product_id FROM products ORDER BY 1')).toEqual(ids);
  expect(await happens(missing, (subjects) => subjects.length > 0)).toEqual(['products']);

  const gone = ids[3]?.product_id ?? 0;
  const refused = { kind: 'status', status: 410, body: '{"success":false}', path: `^/v2/products/${gone}[?]` };
  await stage.service.quirks({ faults: [emptied, refused] });
  expect((await stage.run('held', 'approve', 'products')).code).toBe(0);
  expect((await stage.run('resync', '--products')).code).toBe(0);
  expect(await stage.rowsOnce('SELECT product_id FROM withdrawn_products', (rows) => rows.length > 0)).toEqual([
    { product_id: gone },
  ]);
  // Of all others the own reads are in.
  const { held } = await happens(
    () => stage.json<{ held: Held[] }>('held', 'list'),
    (list) => list.held.every(({ claiming }) => claiming === 0),
  );
  expect(held.length).toBeLessThanOrEqual(1);
  expect(stage.rows('SELECT product_id FROM products ORDER BY 1')).toEqual(
    ids.filter(({ product_id }) => product_id !== gone),
  );
});
