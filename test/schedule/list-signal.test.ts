import { expect, it } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { roll } from '../../src/sandbox/random.ts';
import type { Served } from '../../src/sandbox/sandbox.ts';
import { priorSignal } from '../../src/schedule/signal.rules.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const list = { resource: 'products', product_id: 0, edition: 'en/EUR', part: 0 } as const;

/** A filled mirror that may make extra calls. */
async function filled(stack: AsyncDisposableStack) {
  const harness = stack.use(
    await filledHarness(
      { products: 8, lean: true, counts: 'none' },
      { budget: { requests_per_second: 10, concurrency: 4, share: 0.25 } },
    ),
  );
  return harness;
}

const pause = ({ daemon }: VirtualHarness) => {
  const { due_at = 0, fetched_at = 0 } = daemon.mirror.schedule.records.find(list) ?? {};
  return due_at - (fetched_at ?? 0);
};

/** Changes a price that is not a reduced one, in the product's dates and in the list, or in its dates alone. */
function reprice({ sandbox }: VirtualHarness, which: number, where: 'both' | 'dates' = 'both'): number {
  const products = sandbox.products().filter(({ id, status }) => status === 'available' && id % 4 !== 0);
  const id = products[Math.floor(which * products.length)]?.id ?? 0;
  const product = sandbox.world.find(id);
  if (product !== null) {
    if (where === 'dates') Object.assign(product, { from_price: product.from_price ?? product.price });
    product.price += 100;
  }
  return id;
}

it.each([
  { where: 'both', shows: 'shows them' },
  { where: 'dates', shows: 'shows none of them' },
] as const)(
  'it is learned from the reads of dates that change that the list $shows',
  needs('time'),
  async ({ where }) => {
    await using stack = new AsyncDisposableStack();
    const harness = await filled(stack);
    const { clock, daemon } = harness;
    const until = clock.now() + 30 * hour;
    for (let turn = 0; clock.now() < until; turn += 1) {
      reprice(harness, roll(1, turn, 'who'), where);
      await harness.live(hour);
    }
    const { rightly, wrongly, shown, hidden } = daemon.mirror.schedule.signals.of('near');
    if (where === 'both') {
      expect(shown).toBeGreaterThan(2);
      expect(rightly).toBeGreaterThan(1.5);
      return;
    }
    expect([rightly, wrongly, shown]).toEqual([priorSignal.rightly, priorSignal.wrongly, priorSignal.shown]);
    expect(hidden).toBeGreaterThan(priorSignal.hidden + 1);
    expect(pause(harness)).toBeGreaterThan(5 * hour);
  },
);

it('a survey from before signals is used as it is, and a signal from the future is none', async () => {
  await using stack = new AsyncDisposableStack();
  const harness = await filled(stack);
  const { daemon, clock } = harness;
  const { mirror } = daemon;
  await harness.live(8 * hour);
  const surveyed = mirror.schedule.budget.demand();
  if (surveyed === null) throw new Error('nothing was surveyed');
  const { walks: _, ...older } = surveyed;
  mirror.transaction(() => {
    mirror.schedule.budget.saveDemand(older, clock.now());
    for (const id of mirror.catalogue.products.ids())
      mirror.catalogue.products.signalled(id, {
        before_at: instant(clock.now() + 24 * hour),
        at: instant(clock.now() + 48 * hour),
      });
  });
  await harness.live(8 * hour);
  expect(mirror.schedule.signals.of('near').rightly).toBe(priorSignal.rightly);
  expect(mirror.schedule.budget.demand()?.walks?.every).toBe(6 * hour);
});

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
    await ordered.live(2 * hour);
    expect(placed()[0]).toBe(risen);
    db.close();
  },
);
