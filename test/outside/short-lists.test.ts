import { expect, it } from 'vitest';
import { ask, Stage } from './stage.ts';

const list = '^/v2/products\\?.*page=';
const paged = { profile: { authorization: { header: null }, page_size: 4 } };

it('a list that leaves out rows, or whose rows cannot be used, is no fill, and withdraws nothing from one', async () => {
  await using stage = await Stage.open({ service: ['--products', '10'] });
  stage.configure({ service: { base_url: stage.service.url, ...paged } });
  const resync = () => stage.run('resync', '--all', '--wait');
  const ready = async () => (await ask(stage.admin, '/readyz')).status;
  const shorter = { kind: 'fewer-rows', path: `${list}3`, rows: 0 };
  const unusable = { kind: 'renamed', path: `${list}2`, member: 'id', as: 'product_id', rows: 4 };

  await stage.service.quirks({ faults: [shorter] });
  await stage.live();
  expect(await resync()).toMatchObject({ code: 69, stderr: expect.stringMatching(/^Error: .*8 of 10 products/m) });
  expect(await ready()).toBe(503);
  await stage.service.quirks({ faults: [unusable] });
  expect(await resync()).toMatchObject({ code: 69, stderr: expect.stringMatching(/^Error: .*6 of 10 products/m) });
  expect(await ready()).toBe(503);
  expect(await stage.run('status')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/the list is incomplete: 6 of 10 products/),
  });
  expect(stage.rows('SELECT filled_at FROM mirror_info')).toEqual([{ filled_at: null }]);

  // The same reads of a whole list are a fill (control).
  await stage.service.quirks({ faults: [] });
  expect((await resync()).code).toBe(0);
  expect(await ready()).toBe(200);
  await stage.service.quirks({ faults: [shorter] });
  expect((await resync()).code).toBe(69);
  expect(stage.rows('SELECT count(*) AS products FROM products')).toEqual([{ products: 10 }]);
  expect(await stage.json('held', 'list')).toMatchObject({ held: [] });
});
