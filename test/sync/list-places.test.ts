import { expect, it } from 'vitest';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import type { Served } from '../../src/sandbox/serving.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;

it(
  'a product’s place in the service’s order of popularity is kept, at no extra call, and written where it moved',
  needs('time'),
  async () => {
    const options = { cadence: { products: '1h' } };
    const pages = [0, 0];
    const counted = (which: 0 | 1) => ({
      products: 130,
      served: ({ path }: Served) => {
        if (path === '/v2/products') pages[which] = (pages[which] ?? 0) + 1;
      },
    });
    await using ordered = await virtualHarness(counted(0), options);
    await using plain = await virtualHarness(counted(1), { ...options, service: { profile: { list_order: null } } });
    for (const harness of [ordered, plain]) await harness.fill();
    expect(pages[0]).toBe(pages[1]);
    expect(pages[0]).toBeGreaterThan(1);
    const db = openMirrorForReading(ordered.daemon.config.mirror.path);
    const placed = () =>
      db
        .prepare<[], number>(
          'SELECT product_id FROM product_popularity WHERE list_place IS NOT NULL ORDER BY list_place',
        )
        .pluck()
        .all();
    const liked = () => ordered.sandbox.world.visible().map(({ id }) => id);
    expect(placed()).toEqual(liked());
    using reader = openReader(ordered.daemon.config.mirror.path);
    const found = reader.search({ order: 'popularity', limit: 130 }).hits.filter(({ sellable }) => sellable === 1);
    expect(found.map(({ product_id }) => product_id)).toEqual(liked().filter((id) => reader.sellable(id)));

    const risen = liked().at(-1);
    ordered.sandbox.world.drift(129, 0);
    await ordered.liveUntil(ordered.clock.now() + 2 * hour);
    expect(placed()[0]).toBe(risen);
    db.close();
  },
);
