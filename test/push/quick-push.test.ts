import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import type { Quirks } from '../../src/sandbox/rough/quirks.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';
import { DeliveryList, disabled, enabled, notificationOf, updated } from '../receiver/delivery-list.ts';

const minute = 60_000;

interface Size {
  readonly products?: number;
  readonly page_size?: number;
  readonly quirks?: Partial<Quirks>;
}

/** A mirror of a service with only the calls of the specification, filled half an hour ago. */
async function filled({ products = 60, page_size = 5, quirks = {} }: Size = {}) {
  const pages: number[] = [];
  const harness = await filledHarness(
    {
      lean: true,
      products,
      quirks: { endpoints: 'specification', ...quirks },
      served: ({ path, query }) => {
        if (path === '/v2/products') pages.push(Number(new URLSearchParams(query).get('page')));
      },
    },
    { scheduling: 'fixed', service: { profile: { authorization: { header: null }, page_size } } },
    // The order of a shifting list goes by how many walks there were: those of the fill count.
    { fill: quirks.list_order === 'shifting' ? 'own' : 'copied' },
  );
  const { live } = harness;
  await live(30 * minute);
  pages.length = 0;
  const inbox = new DeliveryList(harness);
  const query = <Row>(sql: string): Row[] => harness.rows(sql);
  return {
    harness,
    /** The pages of the list that were read since the fill. */
    pages,
    ids: harness.sandbox.world.visible().flatMap(({ id, status }) => (status === 'available' ? [id] : [])),
    live,
    query,
    sandboxed: (product_id: number) => harness.sandbox.world.find(product_id) as { status: string; withdrawn: boolean },
    post: async (payload: unknown) => {
      inbox.post(payload);
      await inbox.apply();
    },
    product: (product_id: number) =>
      query<Record<string, unknown>>(
        `SELECT sale_status, sellable, disabled_source FROM products WHERE product_id = ${product_id}`,
      )[0],
    alternatives: () => query('SELECT product_id, alternative_product_id FROM alternatives'),
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  };
}

type Filled = Awaited<ReturnType<typeof filled>>;

/** Begins another walk of the list, after which its rows stand in another order. */
async function walkElsewhere({ harness }: Filled): Promise<void> {
  await harness.drive(fetch(`${harness.sandbox.url}/v2/products?page=1&page_size=5`).then((answer) => answer.text()));
}

/** Closes a product in the service, and announces it two minutes ago. */
async function closeAndWait(test: Filled, id: number, other: number): Promise<void> {
  test.sandboxed(id).status = 'unavailable';
  await test.post(notificationOf(id, disabled({ recommended_alternative_product_id: other })));
  await test.live(2 * minute);
}

const confirmed = { sale_status: 'disabled', sellable: 0, disabled_source: 'read' };
const open = { sale_status: 'enabled', sellable: 1, disabled_source: null };

describe('where only the calls of the specification exist', () => {
  it.each<[string, Size]>([
    ['a list of twelve pages', {}],
    ['pages that a cache answers as they were for half a minute', { quirks: { cached_ms: 30_000 } }],
    ['a list of eight pages in another order at each walk', { products: 40, quirks: { list_order: 'shifting' } }],
  ])(
    'a closure is confirmed and its alternative shown within two minutes, and a reopening seen: %s',
    async (_, size) => {
      await using test = await filled(size);
      const [id = 0, other = 0] = [test.ids.at(-1), test.ids[0]];
      // Where pages are cached, the next read gets the answer to this one.
      const readBefore = async () => {
        await test.post(notificationOf(id, updated()));
        await test.live(10_000);
        await walkElsewhere(test);
      };
      await readBefore();
      await closeAndWait(test, id, other);
      expect(test.product(id)).toEqual(confirmed);
      expect(test.alternatives()).toEqual([{ product_id: id, alternative_product_id: other }]);
      await test.live(30 * minute);
      await readBefore();
      test.sandboxed(id).status = 'available';
      await test.post(notificationOf(id, enabled));
      await test.live(2 * minute);
      expect(test.product(id)).toEqual(open);
      expect(test.alternatives()).toEqual([]);
    },
  );

  it('a closure is confirmed by a read of its page at once, although that was read because of a notification just before', async () => {
    await using test = await filled();
    const id = test.ids.at(-1) ?? 0;
    await test.post(notificationOf(id, updated()));
    await test.live(10_000);
    test.sandboxed(id).status = 'unavailable';
    await test.post(notificationOf(id, disabled({})));
    await test.live(10_000);
    expect(test.product(id)).toEqual(confirmed);
  });

  it('in a long list in another order at each walk, only the next walk finds the product (control)', async () => {
    await using test = await filled({ quirks: { list_order: 'shifting' } });
    const [first = 0, other = 0, id = 0] = [test.ids[1], test.ids[0], test.ids[40]];
    await walkElsewhere(test);
    await closeAndWait(test, first, other);
    expect(test.product(first)).toEqual(confirmed);
    await walkElsewhere(test);
    await closeAndWait(test, id, other);
    expect(test.product(id)).toMatchObject({ sellable: 0, disabled_source: 'notification' });
    await test.live(10 * minute);
    expect(test.product(id)).toEqual(confirmed);
  });

  it('a resync of everything counts no product as failed that is on another page by now: its walk reads the list', async () => {
    await using test = await filled({ quirks: { list_order: 'shifting' } });
    const { sync, mirror } = test.harness.daemon;
    await walkElsewhere(test);
    await test.post(notificationOf(test.ids[40] ?? 0, updated()));
    const { job_id } = requestResync(sync, { product_ids: [], resources: ['products'], from: null, to: null });
    await test.live(10 * minute);
    expect(mirror.schedule.jobs.find({ job_id })).toMatchObject({ left: 0, failed: 0 });
  });

  it('a closure that is not true is undone by three reads of its page, twelve minutes after it', async () => {
    await using test = await filled();
    const id = test.ids.at(-1) ?? 0;
    await test.post(notificationOf(id, disabled({})));
    await test.live(30_000);
    expect(test.product(id)).toMatchObject({ sellable: 0 });
    await test.live(13 * minute);
    expect(test.product(id)).toEqual(open);
    expect(new Set(test.pages).size).toBe(1);
    expect(test.pages).toHaveLength(3);
  });

  it('one read of a page answers for every product on it: a hundred closures at once cost no more than the list', async () => {
    await using test = await filled({ products: 130, page_size: 5 });
    const closed = test.ids.slice(0, 100);
    for (const id of closed) test.sandboxed(id).status = 'unavailable';
    await test.post({ products: closed.map((product_id) => ({ product_id, changes: [disabled({})] })) });
    await test.live(2 * minute);
    expect(closed.map((id) => test.product(id)?.sellable)).toEqual(closed.map(() => 0));
    expect(closed.every((id) => test.product(id)?.sale_status === 'disabled')).toBe(true);
    expect(test.pages.length).toBeLessThanOrEqual(26);
  });
});
