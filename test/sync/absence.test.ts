import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { approveRemovals, rejectRemovals } from '../../src/sync/records/absence.ts';
import { type VirtualHouse, virtualHouse } from '../fakes/virtual-house.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** The list is walked every hour here, so that half a day holds what takes a quarter of a year. */
async function filled(options: Parameters<typeof virtualHouse>[0], config: object = {}): Promise<VirtualHouse> {
  const house = await virtualHouse(options, { cadence: { products: '1h' }, ...config });
  await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
  return house;
}

/** Lives on for a while. */
async function lives({ clock, liveUntil }: VirtualHouse, ms: number): Promise<void> {
  await liveUntil(clock.now() + ms);
}

/** Lives on until something is so, in steps; fails where it is not within a day and a half. */
async function until(house: VirtualHouse, so: () => boolean, step = 20 * minute): Promise<void> {
  for (let waited = 0; !so(); waited += step) {
    expect(waited).toBeLessThan(36 * hour);
    await lives(house, step);
  }
}

const visible = ({ wiring }: VirtualHouse) => wiring.mirror.products.count();
const held = ({ wiring }: VirtualHouse) => wiring.mirror.removals.openHold() !== null;
const absence = ({ wiring }: VirtualHouse, product: SandboxProduct) => wiring.mirror.removals.one(product.id);
const lean = { lean: true, products: 40 };

function first(house: VirtualHouse): SandboxProduct {
  const [product] = house.sandbox.world.visible();
  if (product === undefined) throw new Error('no product');
  return product;
}

/** Three fifths of the products are really gone; returns how many are left. */
function withdrawMost(house: VirtualHouse): number {
  for (const product of house.sandbox.products()) if (product.id % 5 < 3) product.withdrawn = true;
  return house.sandbox.world.visible().length;
}

describe('a product that the service no longer offers', () => {
  it.each([404, 410] as const)(
    'is withdrawn within three hours of the list that lacks it (%s), and returns with its history',
    async (gone) => {
      await using house = await filled({ ...lean, gone });
      const product = first(house);
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

  it('is withdrawn within an hour of the first list that lacks it, although the list is walked once a week', async () => {
    await using house = await virtualHouse(lean);
    await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
    const product = first(house);
    await lives(house, 5 * day);
    product.withdrawn = true;
    const missed = () => (absence(house, product)?.missing_walks ?? 0) > 0;
    for (let waited = 0; !missed() && waited < 4 * day; waited += 10 * minute) await lives(house, 10 * minute);
    expect(missed()).toBe(true);
    await lives(house, hour);
    expect(visible(house)).toBe(39);
  });

  it('is withdrawn too where the profile has no read of a single product', async () => {
    const profile = { authorization: { header: null }, paths: { product: null } };
    await using house = await filled({ ...lean, detail: false }, { service: { profile } });
    first(house).withdrawn = true;
    await lives(house, 3 * hour);
    expect(visible(house)).toBe(39);
  });

  it('is doubted on after a restart as if there had been none', async () => {
    await using house = await filled(lean);
    const product = first(house);
    product.withdrawn = true;
    await until(house, () => absence(house, product)?.missing_walks === 1, minute);
    const known = absence(house, product);
    await house.restart();
    expect(absence(house, product)).toEqual(known);
    await lives(house, hour);
    expect(visible(house)).toBe(39);
  });

  it('is not brought back by an answer to what was asked before its withdrawal', async () => {
    await using house = await filled(lean);
    withdrawMost(house);
    await until(house, () => held(house));
    const { mirror, ports } = house.wiring;
    const sent_at = house.clock.now();
    await lives(house, minute);
    approveRemovals(ports, []);
    const gone = house.sandbox.products().find(({ withdrawn }) => withdrawn);
    const reading = await house.drive(
      ports.upstream.in('weekly').productPage(1, 'en', 'EUR', new AbortController().signal),
    );
    if (reading.kind !== 'read' || gone === undefined) throw new Error('no page');
    const [entry] = reading.value.entries;
    if (entry === undefined) throw new Error('no entry');
    const store = (at: number) =>
      mirror.transaction(() =>
        mirror.products.store(
          { ...entry, product_id: gone.id },
          {
            source: 'list', language: 'en', currency: 'EUR', primary: { language: 'en', currency: 'EUR' },
            sent_at: at, now: house.clock.now(), stale_at: at, reason: 'requested',
          }, // biome-ignore format: one read
        ),
      );
    expect(store(sent_at).outcome).toBe('late');
    expect(store(house.clock.now()).outcome).toBe('returned');
  });
});

describe('a list that lies', () => {
  it('(one product left out, though it can be read) withdraws nothing, however often', async () => {
    await using house = await filled(lean);
    const left = first(house);
    house.sandbox.world.hide(({ id }) => id === left.id);
    await lives(house, 9 * hour);
    expect(visible(house)).toBe(40);
    expect(absence(house, left)).toMatchObject({ answer: 'there' });
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
    const said = house.log.lines().filter(({ msg }) => msg === 'mass removal held: catalogued removals list');
    expect(said).toHaveLength(1);
    house.sandbox.world.hide(null);
    await until(house, () => !held(house));
    expect(visible(house)).toBe(40);
  });

  it('(drifting on every page) withdraws nothing', async () => {
    await using house = await filled({ lean: true, products: 250 });
    first(house).withdrawn = true;
    house.sandbox.setDrift(1);
    await lives(house, 5 * hour);
    expect(visible(house)).toBe(250);
  });
});

describe('a product whose own read answers 404 although the list shows it', () => {
  const refuse = (house: VirtualHouse, { id }: SandboxProduct) =>
    house.sandbox.faults.add({ kind: 'status', status: 404, body: '{"success":false}', path: `/${id}\\?` });
  const readNow = ({ wiring, clock }: VirtualHouse, { id }: SandboxProduct) => {
    const kinds = [{ resource: 'product_detail' as const, edition: 'en', part: 0 }];
    wiring.mirror.transaction(() =>
      wiring.mirror.records.bringForward({ kinds, product_ids: [id] }, clock.now(), 'requested'),
    );
  };

  it('stays, and brings the list forward, but not twice within an hour', async () => {
    await using house = await virtualHouse(lean);
    await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
    const walks = () => house.sandbox.calls.counts().by_kind['/v2/products'] ?? 0;
    const product = first(house);
    refuse(house, product);
    const before = walks();
    readNow(house, product);
    // The first fill has walked the list a moment ago: the next walk waits until that is an hour old.
    await lives(house, 50 * minute);
    expect(walks() - before).toBe(0);
    await lives(house, 20 * minute);
    expect(walks() - before).toBe(1);
    expect(visible(house)).toBe(40);
    await lives(house, 3 * day);
    expect(visible(house)).toBe(40);
    expect(walks() - before).toBeLessThanOrEqual(6);
  });

  it('is asked again when the list lacks it later: an old 404 is no evidence', async () => {
    await using house = await filled(lean);
    const product = first(house);
    refuse(house, product);
    readNow(house, product);
    await lives(house, 2 * minute);
    house.sandbox.faults.clear();
    house.sandbox.world.hide(({ id }) => id === product.id);
    await lives(house, 6 * hour);
    expect(visible(house)).toBe(40);
    expect(absence(house, product)).toMatchObject({ answer: 'there' });
  });
});

describe('sixty percent that are really gone', () => {
  it('stay until three lists agree, and go when their own reads agree too', async () => {
    await using house = await filled(lean);
    const left = withdrawMost(house);
    await until(house, () => held(house));
    while (held(house)) {
      expect(visible(house)).toBe(40);
      await lives(house, 20 * minute);
    }
    await until(house, () => visible(house) === left);
    expect(held(house)).toBe(false);
  });

  it('go although another product was never in the list: only what went missing now can contradict', async () => {
    await using house = await filled(lean);
    const kept = house.sandbox.products().find(({ id }) => id % 5 >= 3);
    house.sandbox.world.hide(({ id }) => id === kept?.id);
    await lives(house, 4 * hour);
    const left = withdrawMost(house);
    await until(house, () => visible(house) === left + 1);
    expect(held(house)).toBe(false);
  });

  it('go alone when three lists agree: what only the last of them lacks is held anew', async () => {
    await using house = await filled(lean);
    const left = withdrawMost(house);
    await until(house, () => (house.wiring.mirror.removals.openHold()?.lists ?? 0) === 2, 5 * minute);
    const before = house.wiring.mirror.removals.openHold()?.hold_id;
    const hidden = new Set(
      house.sandbox.world
        .visible()
        .slice(0, 8)
        .map(({ id }) => id),
    );
    house.sandbox.world.hide(({ id }) => hidden.has(id));
    await until(house, () => visible(house) === left, 5 * minute);
    const hold = house.wiring.mirror.removals.openHold();
    expect([hold === null, hold?.hold_id === before]).toEqual([false, false]);
    house.sandbox.world.hide(null);
    await until(house, () => !held(house));
    expect(visible(house)).toBe(left);
  });

  it('are held on after a restart, with the lists that have agreed so far', async () => {
    await using house = await filled(lean);
    const left = withdrawMost(house);
    await until(house, () => (house.wiring.mirror.removals.openHold()?.lists ?? 0) === 2, 5 * minute);
    const [hold, absent] = [house.wiring.mirror.removals.openHold(), house.wiring.mirror.removals.absent()];
    await house.restart();
    expect(house.wiring.mirror.removals.openHold()).toEqual(hold);
    expect(house.wiring.mirror.removals.absent()).toEqual(absent);
    await until(house, () => visible(house) === left);
  });

  it('go at once when a person approves: some of them, or all', async () => {
    await using house = await filled(lean);
    const left = withdrawMost(house);
    await until(house, () => held(house));
    const { ports, mirror } = house.wiring;
    const [one] = mirror.removals.absent();
    expect(approveRemovals(ports, [one?.product_id ?? 0])).toBe(1);
    expect([held(house), visible(house)]).toEqual([true, 39]);
    expect(() => approveRemovals(ports, [one?.product_id ?? 0])).toThrow('not held: product');
    expect(approveRemovals(ports, [])).toBe(39 - left);
    expect([held(house), visible(house)]).toEqual([false, left]);
  });

  it('stay when a person does not believe it, and are held again only when three further lists agree', async () => {
    await using house = await filled(lean);
    const left = withdrawMost(house);
    await until(house, () => held(house));
    const { mirror, ports } = house.wiring;
    expect(rejectRemovals(ports)).toBe(40 - left);
    const rejected_at = house.clock.now();
    await until(house, () => held(house));
    expect(house.clock.now() - rejected_at).toBeGreaterThan(2 * hour);
    expect(visible(house)).toBe(40);
    expect(mirror.removals.absent().every(({ missing_walks }) => missing_walks === 3)).toBe(true);
  });

  it('cannot be approved or rejected where nothing is held, and one that is merely missing stays', async () => {
    await using house = await filled(lean);
    const product = first(house);
    product.withdrawn = true;
    await until(house, () => absence(house, product)?.missing_walks === 1, minute);
    expect(() => approveRemovals(house.wiring.ports, [])).toThrow('no removal is held');
    expect(() => rejectRemovals(house.wiring.ports)).toThrow('no removal is held');
    expect(visible(house)).toBe(40);
  });
});

it('a hold and an absence noted by a clock that stood in 2038 do not freeze', async () => {
  await using house = await filled(lean);
  const left = withdrawMost(house);
  await until(house, () => held(house));
  const writer = new Database(house.wiring.mirror.path);
  writer.exec(`UPDATE absence SET first_missing_at = 2145916800000, last_missing_at = 2145916800000;
    UPDATE hold SET opened_at = 2145916800000, last_list_at = 2145916800000`);
  writer.close();
  await until(house, () => visible(house) === left);
});
