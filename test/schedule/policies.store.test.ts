import { describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { instant } from '../../src/kernel/clock.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { filledHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const states = ['fresh', 'stale', 'expired', 'unknown'];
const actions = ['show', 'show_as_from', 'check_first', 'hide'];

interface Policy {
  readonly resource: string;
  readonly state: string;
  readonly action: string;
  readonly expires_after: number | null;
  readonly reason: string;
}

function policies(): Policy[] {
  using test = testMirror();
  return test.all<Policy>('SELECT * FROM policies');
}

describe('the view policies', () => {
  it('has one row for every resource of freshness, for both kinds of price, and every state', async () => {
    await using harness = await filledHarness({ products: 3 });
    const { db } = openMirrorWithClock(harness.daemon.mirror.path);
    const resources = db.prepare<[], string>('SELECT DISTINCT resource FROM freshness').pluck().all();
    const rows = db.prepare<[], Policy>('SELECT * FROM policies').all();
    db.close();
    const wanted = [...resources, 'product_prices', 'day_prices'].flatMap((resource) =>
      states.map((state) => `${resource} ${state}`),
    );
    expect(rows.map(({ resource, state }) => `${resource} ${state}`).sort()).toEqual(wanted.sort());
  });

  it('knows four actions, and gives a reason in one line for each', () => {
    const rows = policies();
    expect([...new Set(rows.map(({ action }) => action))].sort()).toEqual([...actions].sort());
    for (const { reason } of rows) expect(reason).toMatch(/^[^\n]{10,100}$/);
  });

  it('never shows what was never read, nor an image past its limit, nor a price that is stale as an exact one', () => {
    const rows = policies();
    const action = (resource: string, state: string) =>
      rows.find((row) => row.resource === resource && row.state === state)?.action;
    for (const { resource } of rows) expect(action(resource, 'unknown'), resource).toBe('hide');
    expect(action('images', 'expired')).toBe('hide');
    expect(action('availability', 'expired')).toBe('hide');
    expect(action('day_prices', 'stale')).toBe('show_as_from');
    expect(action('availability', 'stale')).toBe('check_first');
    expect(action('product_detail', 'stale')).toBe('show');
  });

  it('is stricter the older something is', () => {
    const rows = policies();
    for (const { resource } of rows) {
      const order = ['fresh', 'stale', 'expired'].map((state) =>
        actions.indexOf(rows.find((row) => row.resource === resource && row.state === state)?.action ?? ''),
      );
      expect(order, resource).toEqual([...order].sort());
    }
  });
});

it('a row is fresh for its cadence, stale until four of them have passed, then expired, in every view that says so', async () => {
  await using harness = await filledHarness({ products: 3 });
  const reader = openMirrorWithClock(harness.daemon.mirror.path);
  const multiples = reader.db.prepare<[], number | null>('SELECT DISTINCT expires_after FROM policies').pluck().all();
  expect(multiples).toEqual([4, null]);
  // The last dates: the venue's midnight takes none of them while they are followed.
  for (const [view, order] of [
    ['products', 'product_id'],
    ['checkout_information', 'product_id'],
    ['variants', 'product_id'],
    ['availability_days', 'date DESC'],
    ['availability_slots', 'date DESC'],
    ['bookable_days', 'date DESC'],
  ]) {
    const first = reader.db.prepare<[], { freshness: string; checked_at: number; expired_at: number; stale: 0 | 1 }>(
      `SELECT freshness, checked_at, expired_at, stale FROM ${view} ORDER BY ${order} LIMIT 1`,
    );
    const at = (now: number) => {
      reader.set(now);
      const row = first.get();
      return [row?.freshness, row?.stale];
    };
    reader.set(harness.clock.now());
    const { checked_at = 0, expired_at = 0 } = first.get() ?? {};
    const stale_at = checked_at + (expired_at - checked_at) / 4;
    expect([checked_at, stale_at - 1, stale_at + 1000, expired_at - 1, expired_at + 1000].map(at), view).toEqual([
      ['fresh', 0],
      ['fresh', 0],
      ['stale', 1],
      ['stale', 1],
      ['expired', 1],
    ]);
  }
  reader.db.close();
});

it('a held row is stale in every view that can hold it, not expired before four cadences, and fresh once it is stored again', async () => {
  await using harness = await filledHarness({ products: 3 });
  const { mirror, sync } = harness.daemon;
  const reader = openMirrorWithClock(mirror.path);
  // Right after the reads: whatever becomes stale now is held. The views know whole seconds.
  const now = instant(Math.ceil(harness.clock.now() / 1000) * 1000);
  const held_at = instant(now + 700);
  const views = [
    'products',
    'product_prices',
    'checkout_information',
    'variants',
    'availability_days',
    'availability_slots',
    'bookable_days',
  ];
  const states = (at: number) => {
    reader.set(at);
    return views.map((view) =>
      reader.db.prepare<[], string>(`SELECT DISTINCT freshness || stale FROM ${view} ORDER BY 1`).pluck().all(),
    );
  };
  expect(states(now)).toEqual(views.map(() => ['fresh0']));
  mirror.transaction(() => {
    for (const product_id of mirror.catalogue.products.ids()) {
      for (const [resource, edition] of [
        ['products', 'en/EUR'],
        ['checkout_information', 'en'],
        ['variants', 'en'],
        ['availability', 'EUR'],
      ] as const) {
        const dates = { from: '2000-01-01', to: '2999-12-31' };
        mirror.evidence.markHeld({ resource, product_id, edition, part: 0 }, held_at, dates);
      }
    }
  });
  for (const at of [held_at, held_at + 12 * hour, held_at + 23 * hour])
    expect(states(at)).toEqual(views.map(() => ['stale1']));
  reader.set(now);
  const met = reader.db.prepare<[], string>('SELECT DISTINCT met FROM freshness').pluck().all();
  expect(met).toEqual([1]);

  requestResync(sync, {
    resources: ['products', 'checkout', 'variants', 'availability'],
    product_ids: [],
    from: null,
    to: null,
  });
  for (const record of mirror.catalogue.products.ids().flatMap((id) => mirror.schedule.records.ofProduct(id)))
    mirror.transaction(() => mirror.schedule.records.forgetBody(record));
  await harness.drive(runSyncCycle(sync, 4, { job_id: null, signal: new AbortController().signal }));
  expect(states(harness.clock.now())).toEqual(views.map(() => ['fresh0']));
  reader.db.close();
});

it('no price is shown that was never read, and neither a price nor a date of a withdrawn product', async () => {
  await using harness = await filledHarness({ products: 3 });
  const { path } = harness.daemon.mirror;
  const reader = openMirrorWithClock(path);
  reader.set(harness.clock.now());
  const db = otherWriter(path);
  const shown = (view: string) => reader.db.prepare(`SELECT count(*) FROM ${view}`).pluck().get();
  const dated = ['availability_days', 'availability_slots', 'bookable_days'];
  expect([...dated, 'product_prices'].filter((view) => shown(view) === 0)).toEqual([]);
  db.exec(
    'CREATE TEMP TABLE read AS SELECT product_id, currency, checked_at, stale_at, held_at FROM _price_read; DELETE FROM _price_read',
  );
  expect(shown('product_prices')).toBe(0);
  db.exec('INSERT INTO _price_read SELECT * FROM read; UPDATE price SET shut = 3; UPDATE date_window SET shut = 3');
  expect([...dated, 'product_prices'].map(shown)).toEqual([0, 0, 0, 0]);
  db.close();
  reader.db.close();
});

it('the details of a product whose own read was never answered are of unknown age', () => {
  using test = testMirror();
  putProducts(test, [productOf(7)]);
  expect(test.all('SELECT detail_freshness FROM products')).toEqual([{ detail_freshness: 'unknown' }]);
});
