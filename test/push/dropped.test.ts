import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { CheckDesk } from '../../src/desk/check.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { explainProduct } from '../../src/says/explain/explain.ts';
import { makeDue } from '../fakes/planted.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const products = 25;

/** A filled mirror whose path of own reads answered more than a minute ago. */
async function filled(): Promise<VirtualHarness> {
  const harness = await filledHarness({ lean: true, products });
  await lives(harness, 3 * minute);
  return harness;
}

const lives = ({ live }: VirtualHarness, ms: number) => live(ms, 5 * second);

/** Bookable days, without those at both ends, which come and go with the time of day. */
const bookable = (harness: VirtualHarness, product?: SandboxProduct) =>
  harness.rows<{
    days: number;
  }>(`SELECT count(*) AS days FROM bookable_days WHERE date BETWEEN '2026-11-24' AND '2026-12-04'
     ${product === undefined ? '' : `AND product_id = ${product.id}`}`)[0]?.days ?? 0;
const visible = ({ products }: VirtualHarness) => products().length;
const claims = ({ daemon }: VirtualHarness, which: 'pending' | 'applied') =>
  daemon.mirror.evidence.claims('sale-status', which).map(({ product_id }) => product_id);
const held = ({ held }: VirtualHarness) => held().map(({ subject, state }) => `${subject} ${state}`);
const withheld = (harness: VirtualHarness) => harness.rows("SELECT kind FROM changes WHERE kind LIKE 'dates_%'");

const contradicted = async ({ daemon }: VirtualHarness) => (await daemon.status.shown()).contradicted;

/** The product with the most bookable days. */
function selling(harness: VirtualHarness): SandboxProduct {
  const [product] = harness.sandbox.world.visible().toSorted((a, b) => bookable(harness, b) - bookable(harness, a));
  if (product === undefined) throw new Error('no product');
  return product;
}

/** Makes the own reads or the near dates of products due. */
function ask(harness: VirtualHarness, asked: readonly SandboxProduct[], what: 'itself' | 'dates'): void {
  const kind =
    what === 'itself'
      ? ({ resource: 'product_detail', edition: 'en', part: 0 } as const)
      : ({ resource: 'availability', edition: 'EUR', part: 0 } as const);
  const records = asked.map(({ id }) => ({ ...kind, product_id: id }));
  makeDue(harness, records, { at: harness.clock.now(), reason: 'requested' });
}

/** Lives on, and returns the fewest bookable days of a product that a shop saw meanwhile. */
async function fewest(harness: VirtualHarness, product: SandboxProduct, ms: number): Promise<number> {
  let least = bookable(harness, product);
  for (let passed = 0; passed < ms; passed += 10 * second) {
    await lives(harness, 10 * second);
    least = Math.min(least, bookable(harness, product));
  }
  return least;
}

const refuse = (harness: VirtualHarness, path: string, more: { times?: number; status?: number } = {}) =>
  harness.sandbox.faults.add({ kind: 'status', status: 404, body: '{"success":false}', path, ...more });

describe('a product that the service drops without an announcement', () => {
  it.each(['itself', 'dates'] as const)(
    'is not bookable minutes after its own read says so twice (asked first: %s), and is withdrawn by the list',
    async (what) => {
      await using harness = await filled();
      const product = selling(harness);
      const before = bookable(harness);
      const own = bookable(harness, product);
      expect(own).toBeGreaterThan(0);
      product.withdrawn = true;
      ask(harness, [product], what);
      await lives(harness, 30 * second);
      expect([bookable(harness, product), claims(harness, 'pending')]).toEqual([own, [product.id]]);
      await lives(harness, 3 * minute);
      expect([bookable(harness, product), claims(harness, 'applied')]).toEqual([0, [product.id]]);
      expect(bookable(harness)).toBe(before - own);
      expect([visible(harness), held(harness)]).toEqual([products, []]);
      const { claims: explained, dates_off_at } = explainProduct(harness.daemon.sync, product.id) ?? {};
      expect([explained, dates_off_at]).toMatchObject([
        [{ subject: 'sale-status', state: 'applied' }],
        expect.any(Number),
      ]);
      expect(await contradicted(harness)).toBeNull();
      await lives(harness, 2 * hour);
      expect(visible(harness)).toBe(products - 1);
      expect(withheld(harness)).toEqual([{ kind: 'dates_withheld' }]);
    },
  );

  it('(by its own read alone) stays bookable for as long as its dates are answered, and goes with them', async () => {
    await using harness = await filled();
    const product = selling(harness);
    const before = bookable(harness, product);
    refuse(harness, `^/v2/products/${product.id}\\?`);
    ask(harness, [product], 'itself');
    expect(await fewest(harness, product, 3 * hour)).toBe(before);
    expect([withheld(harness), visible(harness)]).toEqual([[], products]);
    refuse(harness, `^/v2/products/${product.id}/availability`);
    ask(harness, [product], 'dates');
    ask(harness, [product], 'itself');
    await lives(harness, 5 * minute);
    expect(bookable(harness, product)).toBe(0);
  });
});

describe('a third of the products that are dropped at once', () => {
  it('are held: none closes, each is marked as stale, and the hold passes when they are answered again', async () => {
    await using harness = await filled();
    const before = bookable(harness);
    const dropped = harness.sandbox.world.visible().slice(0, 8);
    for (const product of dropped) product.withdrawn = true;
    ask(harness, dropped, 'itself');
    await lives(harness, 40 * minute);
    expect([bookable(harness), visible(harness)]).toEqual([before, products]);
    expect(held(harness)).toContain('sale-status held');
    const ids = dropped.map(({ id }) => id).join(',');
    const stale = `SELECT count(*) AS count FROM products WHERE stale = 1 AND product_id IN (${ids})`;
    expect(harness.rows(stale)).toEqual([{ count: 8 }]);
    for (const product of dropped) product.withdrawn = false;
    await lives(harness, 6 * hour);
    expect([held(harness), claims(harness, 'pending'), bookable(harness)]).toEqual([[], [], before]);
  });
});

describe('own reads that are all refused', () => {
  const missing = ({ daemon }: VirtualHarness) => daemon.notOffered().map(({ path }) => path);

  it('with 404 are a missing path: nothing closes, also what claimed it before the path was missing', async () => {
    await using harness = await filled();
    const product = selling(harness);
    const before = bookable(harness);
    refuse(harness, `^/v2/products/${product.id}\\?`);
    ask(harness, [product], 'itself');
    await lives(harness, 30 * second);
    expect(claims(harness, 'pending')).toEqual([product.id]);
    refuse(harness, '^/v2/products/\\d+(\\?|$)');
    ask(harness, harness.sandbox.world.visible(), 'itself');
    await lives(harness, 30 * minute);
    expect([missing(harness), bookable(harness), held(harness)]).toEqual([['product'], before, []]);
    expect([claims(harness, 'pending'), claims(harness, 'applied'), withheld(harness)]).toEqual([[], [], []]);
  });

  it.each([
    [404, ['product']],
    [410, []],
  ])(
    'beside everything else of each product (%i) close nothing in hours, and a check is unknown',
    async (status, paths) => {
      await using harness = await filled();
      const product = selling(harness);
      const before = bookable(harness);
      refuse(harness, '^/v2/products/\\d+', { status });
      requestResync(harness.daemon.sync, {
        resources: ['products', 'checkout', 'availability'],
        product_ids: [],
        from: null,
        to: null,
      });
      await lives(harness, 4 * hour);
      expect([missing(harness), bookable(harness), withheld(harness)]).toEqual([paths, before, []]);
      await using desk = new CheckDesk(harness.daemon);
      const asked = { product_id: product.id, date: '2026-11-30' };
      const { verdict } = await harness.drive(desk.check(asked, new AbortController().signal));
      expect([verdict, bookable(harness)]).toEqual(['unknown', before]);
    },
  );
});
