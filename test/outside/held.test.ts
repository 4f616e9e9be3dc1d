import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { happens, Stage } from './stage.ts';

interface Held {
  readonly subject: string;
  readonly able: number;
  readonly claiming: number;
}

/** Everything that most answers can take away, as a storefront sees it, of what is on sale. */
const shown = {
  products: 'SELECT product_id, tagline, summary, description FROM products WHERE sellable = 1 ORDER BY 1',
  prices: 'SELECT product_id, from_price FROM products WHERE sellable = 1 ORDER BY 1',
  dates: 'SELECT product_id, date, lowest_price FROM bookable_days ORDER BY 1, 2',
  variants: 'SELECT product_id, variant_id, label FROM variants ORDER BY 1, 2',
  images: 'SELECT product_id, image_key FROM images ORDER BY 1, 2',
};

/** What every answer says from now on. Lists show no images; other reads show those that there are. */
const lies = [
  { kind: 'prices', factor: 0.01 },
  { kind: 'off-sale', path: '^/v2/products[?]' },
  { kind: 'no-texts' },
  { kind: 'no-dates' },
  { kind: 'no-variants' },
  { kind: 'respelt', path: '^/v2/products[?]', member: 'images', body: '[]' },
];

describe('what most answers take away at once', () => {
  let stage: Stage;
  let before: Readonly<Record<keyof typeof shown, unknown[]>>;
  const now = () =>
    Object.fromEntries(Object.entries(shown).map(([name, sql]) => [name, stage.rows(sql)])) as typeof before;

  beforeAll(async () => {
    stage = await Stage.open({ service: ['--products', '12'] });
    await stage.filled();
    before = now();
    await stage.service.quirks({ faults: lies });
    // The list first: a product's own read that shows no image is believed.
    expect((await stage.run('resync', '--all')).code).toBe(0);
    for (const view of ['products', 'variants', 'bookable_days'])
      await stage.rowsOnce(
        `SELECT 1 FROM ${view} AS v JOIN products p USING (product_id) WHERE p.sellable = 1 AND v.stale = 0`,
        (rows) => rows.length === 0,
      );
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  it('stays as it was, and is stale, in every view', () => {
    expect(now()).toEqual(before);
    for (const rows of Object.values(before)) expect(rows.length).toBeGreaterThan(10);
  });

  it('is named by the condition: each kind, the share, and the command that decides', async () => {
    const { held } = await stage.json<{ held: Held[] }>('held', 'list');
    const kinds = ['far-dates', 'from-prices', 'near-dates', 'sale-status', 'texts', 'variants'];
    expect(held.map(({ subject }) => subject)).toEqual(expect.arrayContaining(kinds));
    const { code, stdout } = await stage.run('status');
    const said = stdout.replaceAll(/\s+/g, ' ');
    expect(code).toBe(1);
    for (const kind of kinds) expect(said).toMatch(new RegExp(`${kind}, [^;]*\\d+ of \\d+ records \\(\\d+ %`));
    expect(said).toContain('catalogued held approve KIND');
    expect(said).toMatch(/the list suddenly shows no images for 12 products/);
  });

  it('is shown once a person believes it, and that kind alone', async () => {
    await stage.service.quirks({ faults: lies.slice(0, 1) });
    expect((await stage.run('held', 'approve', 'from-prices')).code).toBe(0);
    expect((await stage.run('resync', '--products')).code).toBe(0);
    const cut = (before.prices as { product_id: number; from_price: number }[]).map(({ product_id, from_price }) => ({
      product_id,
      from_price: Math.round(from_price / 100),
    }));
    await stage.rowsOnce(shown.prices, (rows) => JSON.stringify(rows) === JSON.stringify(cut));
    expect(now()).toEqual({ ...before, prices: cut });
  });

  it('is over once the service says otherwise', async () => {
    await stage.service.quirks({ faults: [] });
    expect((await stage.run('resync', '--all', '--wait')).code).toBe(0);
    expect(
      await happens(
        () => stage.differences(),
        (differences) => differences.length === 0,
      ),
    ).toEqual([]);
  });
});
