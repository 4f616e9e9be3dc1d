import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

async function filled(
  options: Parameters<typeof virtualHarness>[0],
  config: Record<string, unknown> = {},
): Promise<VirtualHarness> {
  const harness = await filledHarness(options, config);
  return harness;
}

/** One number, read as a storefront reads it now. */
const count = ({ rows }: VirtualHarness, sql: string) => Number(Object.values(rows(sql)[0] ?? {})[0] ?? 0);

const outcomesOf = ({ status }: VirtualHarness) => status().outcomes.filter(({ failed_at }) => failed_at !== null);

describe('images that all vanish from the list', () => {
  const images = (harness: VirtualHarness) => count(harness, 'SELECT count(*) FROM images');
  const said = (harness: VirtualHarness) =>
    harness.log.lines().filter(({ msg }) => `${msg}`.includes('a list page shows no images'));
  /** Takes every image away; returns what gives them back. */
  function takeAway({ sandbox }: VirtualHarness): () => void {
    const before = sandbox.products().map((product) => [product, product.images] as const);
    for (const [product] of before) product.images = [];
    return () => {
      for (const [product, own] of before) product.images = own;
    };
  }

  /** Few dates, so that weeks pass quickly; the list, which shows the loss, is walked before products are read again. */
  const seldom = {
    cadence: {
      products: '12h',
      availability: {
        horizon: 3,
        near: { days: 1, every: '7d' },
        middle: { days: 2, every: '7d' },
        far: { every: '7d' },
      },
    },
  };

  it('stay, each until 14 days after it was confirmed, also where products are read by themselves meanwhile', async () => {
    await using harness = await filled({ lean: true, products: 30 }, seldom);
    const shown = images(harness);
    const confirmed_at = harness.clock.now();
    takeAway(harness);
    await harness.liveUntil(confirmed_at + 13 * day + 20 * hour);
    const reads = harness.sandbox.calls.repeated();
    expect([...reads.keys()].filter((path) => /products\/\d+\?/.test(path)).length).toBeGreaterThan(5);
    expect(images(harness)).toBe(shown);
    await harness.liveUntil(confirmed_at + 14 * day + hour);
    expect(images(harness)).toBe(0);
  });

  it(
    'are a condition that stands in the mirror: counted once, told once, and not pressed for without end',
    needs('time'),
    async () => {
      await using harness = await filled({ lean: true, products: 130 }, seldom);
      takeAway(harness);
      await harness.live(2 * day);
      const outcomes = outcomesOf(harness);
      expect(outcomes).toMatchObject([{ operation: 'image-list', affected: 130 }]);
      expect(said(harness)).toHaveLength(1);
      await harness.restart();
      expect(outcomesOf(harness)).toEqual(outcomes);
      await harness.live(9 * day);
      const calls = harness.sandbox.calls.counts().calls;
      await harness.live(2 * hour);
      // Not every product at each minute's chores: that would be thousands.
      expect(harness.sandbox.calls.counts().calls - calls).toBeLessThan(130);
    },
  );

  it('are over when the list brings images again, and not when it is empty', async () => {
    await using harness = await filled({ lean: true, products: 30 }, { cadence: { products: '1h' } });
    const giveBack = takeAway(harness);
    await harness.live(2 * hour);
    harness.sandbox.world.hide(() => true);
    await harness.live(3 * hour);
    expect(outcomesOf(harness)).toHaveLength(1);
    harness.sandbox.world.hide(null);
    giveBack();
    await harness.live(7 * hour);
    expect(outcomesOf(harness)).toEqual([]);
    expect((await harness.compare()).first).toEqual([]);
  });

  it('are no reason to keep one that a single complete read no longer returns', async () => {
    await using harness = await filled({ lean: true, products: 30 }, { cadence: { products: '1h' } });
    const shown = images(harness);
    const product = harness.sandbox.products().find(({ images: own }) => own.length === 1);
    if (product === undefined) throw new Error('no product with one image');
    product.images = [];
    await harness.live(2 * hour);
    expect(images(harness)).toBe(shown - 1);
  });
});

describe('experiences that a complete list lacks', () => {
  const cadence = { cadence: { experiences: '1h' } };
  const links = (harness: VirtualHarness) => count(harness, 'SELECT count(*) FROM product_experiences');
  const stored = ({ rows }: VirtualHarness) => rows('SELECT DISTINCT experience_id FROM experiences').length;
  const lists = (harness: VirtualHarness) => harness.sandbox.calls.counts().by_kind['/v2/experiences'] ?? 0;

  /** The list shows only some of the experiences from now on. */
  function shorten({ sandbox }: VirtualHarness, keep: (id: number) => boolean): void {
    const { experiences } = sandbox.world;
    sandbox.world.experiences = () => new Map([...experiences()].filter(([id]) => keep(id)));
  }

  it('are dropped with their links at once where they are few', async () => {
    await using harness = await filled({ lean: true, products: 80 }, cadence);
    const before = stored(harness);
    const [gone] = harness.sandbox.world.experiences().keys();
    shorten(harness, (id) => id !== gone);
    await harness.live(2 * hour);
    expect(stored(harness)).toBe(before - 1);
  });

  it('stay where they are many, until three lists in a row lack them', async () => {
    await using harness = await filled({ lean: true, products: 80 }, cadence);
    const before = [stored(harness), links(harness)];
    expect(before[0]).toBeGreaterThan(8);
    const walked = lists(harness);
    shorten(harness, (id) => id % 5 === 0);
    for (; lists(harness) - walked < 2; await harness.live(5 * minute));
    expect([stored(harness), links(harness)]).toEqual(before);
    // Even where everything stored is from long ago: age is no witness.
    const writer = new Database(harness.daemon.config.mirror.path);
    writer.exec('UPDATE _experience SET checked_at = checked_at - 86400000000');
    writer.close();
    await harness.restart();
    expect([stored(harness), links(harness)]).toEqual(before);
    for (; lists(harness) - walked < 3; await harness.live(5 * minute));
    expect(stored(harness)).toBeLessThan(before[0] ?? 0);
  });
});

describe('a walk over many pages', () => {
  it(
    'whose pages fail now and then ends on the same day: each stored page forgets what failed before',
    needs('time'),
    async () => {
      const profile = { authorization: { header: null }, page_size: 10 };
      await using harness = await virtualHarness({ lean: true, products: 90 }, { service: { profile } });
      // Every page of the list fails twice before it comes.
      for (let page = 1; page <= 9; page += 1)
        harness.sandbox.faults.add({ kind: 'html', path: `^/v2/products\\?.*\\bpage=${page}\\b`, times: 2 });
      const began = harness.clock.now();
      await harness.runUntil(() => harness.products().length === 90);
      expect(harness.clock.now() - began).toBeLessThan(hour);
    },
  );
});
