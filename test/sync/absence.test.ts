import { describe, expect, it } from 'vitest';
import { approveRemovals, rejectRemovals } from '../../src/sync/absence.ts';
import { type VirtualHouse, virtualHouse } from '../fakes/virtual-house.ts';

const minute = 60_000;
const hour = 60 * minute;

/** The list is walked every hour here, so that half a day holds what takes a quarter of a year. */
async function filled(options: Parameters<typeof virtualHouse>[0], config: object = {}): Promise<VirtualHouse> {
  const house = await virtualHouse(options, { cadence: { products: '1h' }, ...config });
  await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
  return house;
}

/** Lives until the list was walked once more, and a while. */
async function lives({ clock, liveUntil }: VirtualHouse, ms: number): Promise<void> {
  await liveUntil(clock.now() + ms);
}

const visible = ({ wiring }: VirtualHouse) => wiring.mirror.products.count();
const held = ({ wiring }: VirtualHouse) => wiring.mirror.removals.openHold() !== null;
const lean = { lean: true, products: 40 };

describe('a product that the service no longer offers', () => {
  it.each([404, 410] as const)(
    'is withdrawn within three hours of the list that lacks it (%s), and returns with its history',
    async (gone) => {
      await using house = await filled({ ...lean, gone });
      const [product] = house.sandbox.world.visible();
      if (product === undefined) throw new Error('no product');
      const first_seen_at = house.wiring.mirror.products.shown(product.id)?.first_seen_at;
      product.withdrawn = true;
      await lives(house, 3 * hour);
      expect(visible(house)).toBe(39);
      expect(house.wiring.mirror.products.shown(product.id)?.withdrawn_at).not.toBeNull();
      expect(house.wiring.mirror.records.ofProduct(product.id)).toEqual([]);
      expect(await house.compare()).toMatchObject({ differences: 0 });
      product.withdrawn = false;
      await lives(house, 2 * hour);
      expect(visible(house)).toBe(40);
      expect(house.wiring.mirror.products.shown(product.id)).toMatchObject({ first_seen_at, withdrawn_at: null });
      expect(house.wiring.mirror.records.ofProduct(product.id)).toHaveLength(6);
    },
  );

  it('is withdrawn too where the profile has no read of a single product', async () => {
    await using house = await filled(
      { ...lean, detail: false },
      {
        service: {
          profile: { authorization: { header: null }, paths: { product: null } },
        },
      },
    );
    const [product] = house.sandbox.world.visible();
    if (product === undefined) throw new Error('no product');
    product.withdrawn = true;
    await lives(house, 3 * hour);
    expect(visible(house)).toBe(39);
  });
});

describe('a list that lies', () => {
  it('(one product left out, though it can be read) withdraws nothing, however often', async () => {
    await using house = await filled(lean);
    const [left] = house.sandbox.world.visible();
    house.sandbox.world.hide(({ id }) => id === left?.id);
    await lives(house, 9 * hour);
    expect(visible(house)).toBe(40);
    expect(house.wiring.mirror.removals.one(left?.id ?? 0)).toMatchObject({ answer: 'there' });
  });

  it.each([
    ['empty', () => true],
    ['halved', ({ id }: { id: number }) => id % 2 === 0],
  ] as const)('(%s) is held, and passes when the list is whole again', async (_, which) => {
    await using house = await filled(lean);
    house.sandbox.world.hide(which);
    await lives(house, 6 * hour);
    expect(held(house)).toBe(true);
    expect(visible(house)).toBe(40);
    expect(house.log.lines().map(({ msg }) => msg)).toContain('mass removal held: catalogued removals list');
    house.sandbox.world.hide(null);
    await lives(house, 2 * hour);
    expect(held(house)).toBe(false);
    expect(visible(house)).toBe(40);
  });

  it('(drifting on every page) withdraws nothing', async () => {
    await using house = await filled({ lean: true, products: 250 });
    house.sandbox.setDrift(1);
    await lives(house, 5 * hour);
    expect(visible(house)).toBe(250);
  });
});

describe('sixty percent that are really gone', () => {
  const gone = (house: VirtualHouse) => {
    for (const product of house.sandbox.products()) if (product.id % 5 < 3) product.withdrawn = true;
    return house.sandbox.world.visible().length;
  };

  it('stay until three lists agree, and go when their own reads agree too', async () => {
    await using house = await filled(lean);
    const left = gone(house);
    let before = 40;
    let opened = false;
    for (let looks = 0; looks < 36 && visible(house) > left; looks += 1) {
      before = visible(house);
      await lives(house, 20 * minute);
      opened ||= held(house);
      if (held(house)) expect(visible(house)).toBe(40);
    }
    expect([opened, before, visible(house), held(house)]).toEqual([true, 40, left, false]);
  });

  it('go at once when a person approves, and stay when a person does not believe it', async () => {
    await using house = await filled(lean);
    const left = gone(house);
    while (!held(house)) await lives(house, hour);
    expect(rejectRemovals(house.wiring.ports)).toBe(40 - left);
    expect([held(house), visible(house)]).toEqual([false, 40]);
    while (!held(house)) await lives(house, hour);
    expect(approveRemovals(house.wiring.ports, [])).toBe(40 - left);
    expect([held(house), visible(house)]).toEqual([false, left]);
  });
});
