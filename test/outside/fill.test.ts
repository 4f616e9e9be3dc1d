import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { happens, Stage } from './stage.ts';

const equal = (differences: readonly string[]) => differences.length === 0;

describe('a filled mirror', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ service: ['--products', '12', '--drift', '0.5'] });
    await stage.filled();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  it('equals the service in every column of every view, and the comparison sees what is edited since', async () => {
    expect(await happens(() => stage.differences(), equal)).toEqual([]);
    const [id] = await stage.service.products();
    await stage.service.post(`/sandbox/products/${id}/edit`, { field: 'must_know', value: 'Bring a towel.' });
    expect(await stage.differences()).toEqual([
      expect.stringMatching(/^checkout_information\.must_know .*: must be "Bring a towel\."$/),
      expect.stringMatching(/^checkout_information\.document\.additional_information /),
    ]);
    expect((await stage.run('resync', '--product', `${id}`, '--checkout', '--wait')).code).toBe(0);
    expect(await stage.differences()).toEqual([]);
  });

  it('shows a language and a currency that are added while it runs as the service does', async () => {
    stage.configure({ service: { languages: ['en', 'nl'], currencies: ['EUR', 'JPY'] } });
    expect((await stage.run('reload')).code).toBe(0);
    const shown = await Promise.all(
      (await stage.service.products()).map((id) => stage.service.shown(id, '&language=nl&currency=JPY')),
    );
    const titles = shown.map(({ product_id, detail }) => ({ product_id, title: detail.title }));
    await stage.rowsOnce(
      "SELECT product_id, title FROM products WHERE language_shown = 'nl' ORDER BY 1",
      (rows) => JSON.stringify(rows) === JSON.stringify(titles),
    );
    const prices = shown.map(({ product_id, from_price }) => ({ product_id, from_price }));
    await stage.rowsOnce(
      "SELECT product_id, from_price FROM product_prices WHERE currency = 'JPY' ORDER BY 1",
      (rows) => JSON.stringify(rows) === JSON.stringify(prices),
    );
  });
});
