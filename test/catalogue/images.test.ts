import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { needs } from '../fakes/needs.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const day = 24 * hour;

async function filled(products: number, config: Record<string, unknown> = {}, lean = false): Promise<VirtualHarness> {
  const harness = await filledHarness({ products, lean }, config);
  return harness;
}

const noticed = ({ daemon, clock }: VirtualHarness) => noticedIn(daemon.config.mirror.path, clock.now());

const query = <Row>({ rows }: VirtualHarness, sql: string, ...values: unknown[]): Row[] => rows(sql, ...values);

/** A complete read of everything, an hour later. */
async function readAgain(harness: VirtualHarness): Promise<void> {
  await harness.drive(harness.clock.sleep(hour));
  requestResync(harness.daemon.sync, { resources: ['images'], product_ids: [], from: null, to: null });
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: new AbortController().signal }));
}

function withImages({ sandbox }: VirtualHarness, count: number): SandboxProduct {
  const product = sandbox.products().find(({ images }) => images.length >= count);
  if (product === undefined) throw new Error('too few images');
  return product;
}

const shownOf = (harness: VirtualHarness, { id }: SandboxProduct) =>
  query<{ image_key: string; credit: string | null }>(
    harness,
    'SELECT image_key, credit FROM images WHERE product_id = ? ORDER BY position',
    id,
  );
const creditsOf = (harness: VirtualHarness, { id }: SandboxProduct) =>
  query<{ old: string | null; new: string | null }>(
    harness,
    'SELECT old, new FROM _image_credit WHERE product_id = ? ORDER BY at',
    id,
  );
const takedowns = (harness: VirtualHarness) =>
  query<{ image_key: string; withdrawn_at: number; verified_at: number; cause: string; returned_at: number | null }>(
    harness,
    'SELECT image_key, withdrawn_at, verified_at, cause, returned_at FROM _image_takedown ORDER BY withdrawn_at',
  );

describe('the ledger', () => {
  it('keeps an image that went, with the reads around it, and knows it again when it comes back', async () => {
    await using harness = await filled(12);
    const product = withImages(harness, 3);
    const seen = query<{ first_seen_at: number }>(harness, 'SELECT min(first_seen_at) AS first_seen_at FROM image')[0];
    const [gone] = product.images.splice(1, 1);
    const before = harness.clock.now();
    await readAgain(harness);
    expect(shownOf(harness, product).map(({ image_key }) => image_key)).not.toContain(gone?.name);
    const kept = 'SELECT withdrawn_at, first_seen_at, document FROM image WHERE image_key = ?';
    const [row] = query<{ withdrawn_at: number; document: string }>(harness, kept, gone?.name);
    expect(row?.document).toContain('extra_large');
    const [down] = takedowns(harness);
    expect(down).toMatchObject({ image_key: gone?.name, withdrawn_at: row?.withdrawn_at, cause: 'image' });
    expect(down?.verified_at).toBeLessThanOrEqual(before);
    expect((down?.withdrawn_at ?? 0) - before).toBeGreaterThanOrEqual(hour);

    if (gone !== undefined) product.images.push(gone);
    await readAgain(harness);
    expect(shownOf(harness, product).map(({ image_key }) => image_key)).toContain(gone?.name);
    expect(query(harness, kept, gone?.name)).toMatchObject([{ withdrawn_at: null, ...seen }]);
    expect(takedowns(harness)).toMatchObject([{ returned_at: harness.clock.now() }]);
    const told = query<{ kind: string }>(harness, "SELECT kind FROM changes WHERE kind LIKE 'image%' ORDER BY seq");
    // Those behind it moved up.
    expect(told.map(({ kind }) => kind)).toEqual(['image_withdrawn', 'images_changed', 'image_added']);
  });

  it('writes nothing for a read that differs in nothing', async () => {
    await using harness = await filled(12);
    const rows = () => query(harness, 'SELECT * FROM image');
    const before = rows();
    await readAgain(harness);
    expect(rows()).toEqual(before);
    expect(query(harness, 'SELECT min(verified_at) AS at FROM images')).toEqual([{ at: harness.clock.now() }]);
  });

  it('takes each credit as it was sent, blank ones as none, and a change of letter case for a change', async () => {
    await using harness = await filled(12);
    const product = withImages(harness, 2);
    const [image] = product.images;
    if (image === undefined) throw new Error('no image');
    product.images = [image];
    const steps: [string | null, string | null][] = [
      ['Photo: Ann', 'Photo: Ann'],
      ['PHOTO: ANN', 'PHOTO: ANN'],
      ['<a href="x">Ann</a> & Bob', '<a href="x">Ann</a> & Bob'],
      ['', null],
      [null, null],
      [' \t\n', null],
      [' Ann ', ' Ann '],
    ];
    for (const [sent, shown] of steps) {
      image.credit = sent;
      await readAgain(harness);
      expect(shownOf(harness, product), JSON.stringify(sent)).toMatchObject([{ credit: shown }]);
    }
    expect(creditsOf(harness, product).slice(-4)).toEqual([
      { old: 'Photo: Ann', new: 'PHOTO: ANN' },
      { old: 'PHOTO: ANN', new: '<a href="x">Ann</a> & Bob' },
      { old: '<a href="x">Ann</a> & Bob', new: null },
      { old: null, new: ' Ann ' },
    ]);
  });

  it('forgets what went when the change feed does, and keeps the credits of what stands', async () => {
    await using harness = await filled(12);
    const product = withImages(harness, 3);
    const [gone] = product.images.splice(1, 1);
    Object.assign(product.images[0] ?? {}, { credit: 'Photo: Ann' });
    await readAgain(harness);
    const { mirror } = harness.daemon;
    const prune = (before: number) => mirror.transaction(() => mirror.catalogue.images.prune(instant(before)));
    expect(prune(harness.clock.now() - 2 * hour)).toBe(0);
    expect(takedowns(harness)).toHaveLength(1);
    expect(prune(harness.clock.now() + 1)).toBe(1);
    expect(takedowns(harness)).toEqual([]);
    expect(query(harness, 'SELECT * FROM image WHERE image_key = ?', gone?.name)).toEqual([]);
    expect(creditsOf(harness, product)).toMatchObject([{ new: 'Photo: Ann' }]);
  });
});

/** Few dates, so that weeks pass quickly. */
const calm = {
  availability: {
    horizon: 3,
    near: { days: 1, every: '7d' },
    middle: { days: 2, every: '7d' },
    far: { every: '7d' },
  },
};

describe('the promise before the limit', () => {
  it('are a condition on day 12 that names the products, and ends when they are confirmed', needs('time'), async () => {
    await using harness = await filled(12, { cadence: calm }, true);
    const start = harness.clock.now();
    // In hours: while the service fails a pass does not end by itself, and here chores wait for it.
    const lives = async (end: number) => {
      while (harness.clock.now() < end) await harness.liveUntil(Math.min(end, harness.clock.now() + hour));
    };
    const { status } = harness;
    // Neither the list nor a product's own read is answered any more.
    harness.sandbox.faults.add({ kind: 'status', status: 500, path: '/v2/products(/\\d+)?\\?' });
    await lives(start + 7 * day + 2 * hour);
    expect(query(harness, "SELECT met FROM freshness WHERE resource = 'images'")).toEqual([{ met: 0 }]);
    await lives(start + 11.9 * day);
    expect(status()).toMatchObject({ images_unconfirmed: null, unconfirmed_images: [] });
    await lives(start + 12 * day + 2 * hour);
    const { images_unconfirmed, unconfirmed_images, images } = status();
    const products = harness.sandbox.products().filter((each) => each.images.length > 0).length;
    expect(noticed(harness)).toEqual(['images-unverified']);
    expect(images_unconfirmed?.products).toBe(products);
    expect((images_unconfirmed?.since ?? 0) - start).toBeLessThanOrEqual(12 * day);
    expect(images).toBe(products);
    expect(unconfirmed_images).toHaveLength(10);
    expect((unconfirmed_images[0]?.hidden_from ?? 0) - start).toBeLessThanOrEqual(14 * day);
    // Nothing is shown after 14 days; the condition goes on.
    await lives(start + 14 * day + hour);
    expect(status()).toMatchObject({ images: 0, images_unconfirmed: { products } });
    harness.sandbox.faults.clear();
    await lives(start + 15 * day + 2 * hour);
    expect(status()).toMatchObject({ images: products, images_unconfirmed: null, unconfirmed_images: [] });
  });
});
