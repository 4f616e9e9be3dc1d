import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { readStatus } from '../../src/mirror/status/status.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { type VirtualHouse, virtualHouse } from '../fakes/virtual-house.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

async function filled(
  options: Parameters<typeof virtualHouse>[0],
  config: Record<string, unknown> = {},
): Promise<VirtualHouse> {
  const house = await virtualHouse(options, config);
  await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
  return house;
}

/** One number, read as a storefront reads it now. */
function count({ wiring, clock }: VirtualHouse, sql: string): number {
  const db = openMirrorAt(wiring.mirror.path, clock.now());
  try {
    return db.prepare<[], number>(sql).pluck().get() ?? 0;
  } finally {
    db.close();
  }
}

function statusOf({ wiring }: VirtualHouse) {
  const db = openMirrorForReading(wiring.mirror.path);
  try {
    return readStatus(db, 5);
  } finally {
    db.close();
  }
}

describe('images that all vanish from the list', () => {
  const images = (house: VirtualHouse) => count(house, 'SELECT count(*) FROM images');
  const said = (house: VirtualHouse) => house.log.lines().filter(({ msg }) => `${msg}`.includes('lost its images'));
  /** Takes every image away; returns what gives them back. */
  function takeAway({ sandbox }: VirtualHouse): () => void {
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
    await using house = await filled({ lean: true, products: 30 }, seldom);
    const shown = images(house);
    const confirmed_at = house.clock.now();
    takeAway(house);
    await house.liveUntil(confirmed_at + 13 * day + 20 * hour);
    const reads = house.sandbox.calls.repeated();
    expect([...reads.keys()].filter((path) => /products\/\d+\?/.test(path)).length).toBeGreaterThan(5);
    expect(images(house)).toBe(shown);
    await house.liveUntil(confirmed_at + 14 * day + hour);
    expect(images(house)).toBe(0);
  });

  it('are a condition that stands in the mirror: counted once, told once, and not pressed for without end', async () => {
    await using house = await filled({ lean: true, products: 130 }, seldom);
    takeAway(house);
    await house.liveUntil(house.clock.now() + 2 * day);
    const { alarms } = statusOf(house);
    expect(alarms).toMatchObject([{ kind: 'images-vanished', products: 130 }]);
    expect(said(house)).toHaveLength(1);
    await house.restart();
    expect(statusOf(house).alarms).toEqual(alarms);
    await house.liveUntil(house.clock.now() + 9 * day);
    const calls = house.sandbox.calls.counts().calls;
    await house.liveUntil(house.clock.now() + 2 * hour);
    // Not every product at each minute's chores: that would be thousands.
    expect(house.sandbox.calls.counts().calls - calls).toBeLessThan(130);
  });

  it('are over when the list brings images again, and not when it is empty', async () => {
    await using house = await filled({ lean: true, products: 30 }, { cadence: { products: '1h' } });
    const giveBack = takeAway(house);
    await house.liveUntil(house.clock.now() + 2 * hour);
    house.sandbox.world.hide(() => true);
    await house.liveUntil(house.clock.now() + 3 * hour);
    expect(statusOf(house).alarms).toHaveLength(1);
    house.sandbox.world.hide(null);
    giveBack();
    await house.liveUntil(house.clock.now() + 7 * hour);
    expect(statusOf(house).alarms).toEqual([]);
    expect((await house.compare()).first).toEqual([]);
  });

  it('are no reason to keep one that a single complete read no longer returns', async () => {
    await using house = await filled({ lean: true, products: 30 }, { cadence: { products: '1h' } });
    const shown = images(house);
    const product = house.sandbox.products().find(({ images: own }) => own.length === 1);
    if (product === undefined) throw new Error('no product with one image');
    product.images = [];
    await house.liveUntil(house.clock.now() + 2 * hour);
    expect(images(house)).toBe(shown - 1);
  });
});

describe('experiences that a complete list lacks', () => {
  const cadence = { cadence: { experiences: '1h' } };
  const links = (house: VirtualHouse) => count(house, 'SELECT count(*) FROM product_experiences');
  const stored = ({ wiring }: VirtualHouse) => wiring.mirror.experiences.count();
  const lists = (house: VirtualHouse) => house.sandbox.calls.counts().by_kind['/v2/experiences'] ?? 0;

  /** The list shows only some of the experiences from now on. */
  function shorten({ sandbox }: VirtualHouse, keep: (id: number) => boolean): void {
    const { experiences } = sandbox.world;
    sandbox.world.experiences = () => new Map([...experiences()].filter(([id]) => keep(id)));
  }

  it('are dropped with their links at once where they are few', async () => {
    await using house = await filled({ lean: true, products: 80 }, cadence);
    const before = stored(house);
    const [gone] = house.sandbox.world.experiences().keys();
    shorten(house, (id) => id !== gone);
    await house.liveUntil(house.clock.now() + 2 * hour);
    expect(stored(house)).toBe(before - 1);
  });

  it('stay where they are many, until three lists in a row lack them', async () => {
    await using house = await filled({ lean: true, products: 80 }, cadence);
    const before = [stored(house), links(house)];
    expect(before[0]).toBeGreaterThan(8);
    const walked = lists(house);
    shorten(house, (id) => id % 5 === 0);
    for (; lists(house) - walked < 2; await house.liveUntil(house.clock.now() + 5 * minute));
    expect([stored(house), links(house)]).toEqual(before);
    // Even where everything stored is from long ago: age is no witness.
    const writer = new Database(house.wiring.mirror.path);
    writer.exec('UPDATE experience SET checked_at = checked_at - 86400000000');
    writer.close();
    await house.restart();
    expect([stored(house), links(house)]).toEqual(before);
    for (; lists(house) - walked < 3; await house.liveUntil(house.clock.now() + 5 * minute));
    expect(stored(house)).toBeLessThan(before[0] ?? 0);
  });

  it('stay where the list is empty, however often', async () => {
    await using house = await filled({ lean: true, products: 80 }, cadence);
    const before = [stored(house), links(house)];
    shorten(house, () => false);
    await house.liveUntil(house.clock.now() + 6 * hour);
    expect([stored(house), links(house)]).toEqual(before);
  });
});

describe('a walk over many pages', () => {
  it('whose pages fail now and then ends on the same day: each stored page forgets what failed before', async () => {
    await using house = await virtualHouse({ lean: true, products: 900 });
    // Every page of the list fails twice before it comes.
    for (let page = 1; page <= 9; page += 1)
      house.sandbox.faults.add({ kind: 'html', path: `^/v2/products\\?.*\\bpage=${page}\\b`, times: 2 });
    const began = house.clock.now();
    await house.runUntil(() => house.wiring.mirror.products.count() === 900);
    expect(house.clock.now() - began).toBeLessThan(hour);
  });

  it('that fails again and again is tried once an hour at least', async () => {
    await using house = await virtualHouse({ lean: true, products: 20 });
    house.sandbox.faults.add({ kind: 'html', path: '^/v2/products\\?', times: 12 });
    const began = house.clock.now();
    await house.runUntil(() => house.wiring.mirror.products.count() === 20);
    expect(house.clock.now() - began).toBeLessThan(12 * hour);
  });
});
