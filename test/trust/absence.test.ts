import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { check } from '../fakes/check.ts';
import { needs } from '../fakes/needs.ts';
import { makeDue } from '../fakes/planted.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The list is walked every hour here, so that half a day holds what takes a quarter of a year. */
const hourly = { cadence: { products: '1h' } };

async function filled(options: Parameters<typeof filledHarness>[0], config: object = {}): Promise<VirtualHarness> {
  const harness = await filledHarness(options, { ...hourly, ...config });
  return harness;
}

/** Lives on until something is so, in steps; fails where it is not within a day and a half. */
async function until(harness: VirtualHarness, so: () => boolean, step = 20 * minute): Promise<void> {
  for (let waited = 0; !so(); waited += step) {
    expect(waited).toBeLessThan(36 * hour);
    await harness.live(step);
  }
}

const visible = ({ products }: VirtualHarness) => products().length;
const hold = ({ daemon }: VirtualHarness) => daemon.mirror.evidence.hold('products');
const held = (harness: VirtualHarness) => ![undefined, 'ended'].includes(hold(harness)?.state);
const decide = async ({ ask }: VirtualHarness, decision: 'approve' | 'reject') =>
  (await ask(`POST /v1/held/${decision}`, { body: { kind: 'products' } })).subjects;
const absence = ({ daemon }: VirtualHarness, product: SandboxProduct) =>
  daemon.mirror.catalogue.removals.one({ product_id: product.id });
/** Enough that three fifths of them are more than may go on one answer. */
const products = 25;
const lean = { lean: true, products };

function first(harness: VirtualHarness): SandboxProduct {
  const [product] = harness.sandbox.world.visible();
  if (product === undefined) throw new Error('no product');
  return product;
}

/** Three fifths of the products are really gone; returns how many are left. */
function withdrawMost(harness: VirtualHarness): number {
  for (const product of harness.sandbox.products()) if (product.id % 5 < 3) product.withdrawn = true;
  return harness.sandbox.world.visible().length;
}

describe('a product that the service no longer offers', () => {
  it.each([404, 410] as const)(
    'is withdrawn within three hours of the list that lacks it (%s), and returns with its history',
    async (gone) => {
      const withdrawn = 'SELECT count(*) AS products FROM withdrawn_products';
      await check({
        world: { service: { ...lean, gone }, config: hourly },
        faults: (world) => {
          first(world).withdrawn = true;
        },
        live: 3 * hour,
        expect: { products: products - 1, rows: { [withdrawn]: [{ products: 1 }] }, differences: 0 },
        later: [
          {
            faults: ({ sandbox }) => {
              for (const product of sandbox.products()) product.withdrawn = false;
            },
            live: 2 * hour,
            expect: { products, rows: { [withdrawn]: [{ products: 0 }] }, differences: 0 },
          },
          {
            expect: async (world) => {
              const { first_seen_at, withdrawn_at, records } = await world.explain(first(world).id);
              expect(first_seen_at).toBeLessThan(world.clock.now() - 5 * hour);
              expect([withdrawn_at, records.length]).toEqual([null, 6]);
            },
          },
        ],
      });
    },
  );

  it(
    'is withdrawn within an hour of the first list that lacks it, although the list is walked once a week',
    needs('time'),
    async () => {
      await using harness = await filledHarness(lean);
      const product = first(harness);
      await harness.live(5 * day);
      product.withdrawn = true;
      const missed = () => (absence(harness, product)?.missing_walks ?? 0) > 0;
      for (let waited = 0; !missed() && waited < 4 * day; waited += 10 * minute) await harness.live(10 * minute);
      expect(missed()).toBe(true);
      await harness.live(hour);
      expect(visible(harness)).toBe(products - 1);
    },
  );

  it('is doubted on after a restart as if there had been none', async () => {
    await using harness = await filled(lean);
    const product = first(harness);
    product.withdrawn = true;
    await until(harness, () => absence(harness, product)?.missing_walks === 1, minute);
    const known = absence(harness, product);
    await harness.restart();
    expect(absence(harness, product)).toEqual(known);
    await harness.live(hour);
    expect(visible(harness)).toBe(products - 1);
  });

  it('is not brought back by an answer to what was asked before its withdrawal', async () => {
    await using harness = await filled(lean);
    const left = withdrawMost(harness);
    await until(harness, () => held(harness));
    const { mirror, sync } = harness.daemon;
    await decide(harness, 'approve');
    await until(harness, () => visible(harness) === left);
    const gone = harness.sandbox.products().find(({ withdrawn }) => withdrawn);
    const reading = await harness.drive(
      sync.upstream.in('weekly').productPage(1, 'en', 'EUR', new AbortController().signal),
    );
    if (reading.kind !== 'read' || gone === undefined) throw new Error('no page');
    const [entry] = reading.value.entries;
    if (entry === undefined) throw new Error('no entry');
    const store = (at: number) =>
      mirror.transaction(() =>
        mirror.catalogue.products.store(
          { ...entry, product_id: gone.id },
          {
            source: 'list', language: 'en', currency: 'EUR', primary: { language: 'en', currency: 'EUR' },
            sent_at: instant(at), now: harness.clock.now(), stale_at: instant(at), reason: 'requested',
          }, // biome-ignore format: one read
        ),
      );
    const db = new Database(mirror.path, { readonly: true });
    const withdrawn_at = db.prepare('SELECT withdrawn_at FROM _product WHERE product_id = ?').pluck().get(gone.id);
    db.close();
    expect(store(Number(withdrawn_at) - minute).outcome).toBe('late');
    expect(store(harness.clock.now()).outcome).toBe('returned');
  });
});

describe('a list that lies', () => {
  it.each([
    ['empty', () => true],
    ['halved', ({ id }: { id: number }) => id % 2 === 0],
  ] as const)('(%s) is held, and passes as soon as own reads contradict it', async (_, which) => {
    await using harness = await filled(lean);
    harness.sandbox.world.hide(which);
    await until(harness, () => held(harness), minute);
    const said = harness.log.lines().filter(({ msg }) => String(msg).startsWith('too many records claim the same'));
    expect(said).toMatchObject([{ subject: 'products' }]);
    await harness.live(9 * hour);
    expect(visible(harness)).toBe(products);
    harness.sandbox.world.hide(null);
    await until(harness, () => !held(harness));
    expect(visible(harness)).toBe(products);
  });

  it('(drifting on every page) withdraws nothing', async () => {
    const profile = { authorization: { header: null }, page_size: 10 };
    await using harness = await filled(lean, { service: { profile } });
    first(harness).withdrawn = true;
    harness.sandbox.setDrift(1);
    await harness.live(5 * hour);
    expect(visible(harness)).toBe(products);
  });
});

describe('a product whose own read answers 404 although the list shows it', () => {
  const refuse = (harness: VirtualHarness, { id }: SandboxProduct) =>
    harness.sandbox.faults.add({ kind: 'status', status: 404, body: '{"success":false}', path: `/${id}\\?` });
  const readNow = (harness: VirtualHarness, { id }: SandboxProduct) => {
    const own = { resource: 'product_detail', product_id: id, edition: 'en', part: 0 } as const;
    makeDue(harness, [own], { at: harness.clock.now(), reason: 'requested' });
  };

  it('stays, and brings the list forward, but not twice within an hour', async () => {
    await using harness = await filledHarness(lean);
    const walks = () => harness.sandbox.calls.counts().by_kind['/v2/products'] ?? 0;
    const product = first(harness);
    refuse(harness, product);
    const before = walks();
    readNow(harness, product);
    // The first fill has walked the list a moment ago: the next walk waits until that is an hour old.
    await harness.live(50 * minute);
    expect(walks() - before).toBe(0);
    await harness.live(20 * minute);
    expect(walks() - before).toBe(1);
    expect(visible(harness)).toBe(products);
    await harness.live(3 * day);
    expect(visible(harness)).toBe(products);
    expect(walks() - before).toBeLessThanOrEqual(6);
  });

  it('is not meant by the 404 of another of its reads', needs('time'), async () => {
    await using harness = await filled(lean);
    const { sandbox } = harness;
    const product = first(harness);
    sandbox.world.hide(({ id }) => id === product.id);
    await until(harness, () => absence(harness, product) !== null);
    const answered = absence(harness, product)?.answered_at;
    sandbox.faults.add({ kind: 'status', status: 404, body: '{"success":false}', path: `${product.id}/` });
    await harness.resync(['variants', 'checkout'], [product.id]);
    await harness.live(minute);
    expect(sandbox.calls.counts().by_status['404']).toBeGreaterThan(0);
    expect(absence(harness, product)).toMatchObject({ answered_at: answered });
    expect(absence(harness, product)?.answer).not.toBe('gone');
  });
});

describe('sixty percent that are really gone', () => {
  it('stay for three hours in which samples agree, and go when their own reads agree too', async () => {
    await using harness = await filled(lean);
    const left = withdrawMost(harness);
    await until(harness, () => held(harness));
    const opened_at = harness.clock.now();
    while (hold(harness)?.state === 'held') {
      expect(visible(harness)).toBe(products);
      await harness.live(20 * minute);
    }
    expect(harness.clock.now() - opened_at).toBeGreaterThanOrEqual(3 * hour - 20 * minute);
    await until(harness, () => visible(harness) === left);
    await until(harness, () => !held(harness));
  });

  it('go when a person approves, as soon as their own reads agree', async () => {
    await using harness = await filled(lean);
    const left = withdrawMost(harness);
    await until(harness, () => held(harness));
    const approved_at = harness.clock.now();
    expect(await decide(harness, 'approve')).toEqual(['products']);
    await until(harness, () => visible(harness) === left);
    expect(harness.clock.now() - approved_at).toBeLessThan(3 * hour);
  });
});
