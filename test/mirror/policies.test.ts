import { describe, expect, it } from 'vitest';
import { section } from '../documents.ts';
import { openMirrorWithClock } from '../fakes/mirror-at.ts';
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

/** The documented statement: a product's days with what to do beside them. */
const daysWithActions = (
  /```sql\n(SELECT d\.date,.*?);\n```/s.exec(section('What to do with what is stale'))?.[1] ?? ''
)
  .replace('= 703295', '= ?')
  .replace("d.currency = 'EUR'", 'd.currency = ?');

describe('the view policies', () => {
  it('has one row for every resource of freshness, for both kinds of price, and every state', async () => {
    await using harness = await filledHarness({ products: 3 });
    const { db } = openMirrorWithClock(harness.wiring.mirror.path);
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
  const reader = openMirrorWithClock(harness.wiring.mirror.path);
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
    expect([checked_at, stale_at - 1, stale_at + 1, expired_at - 1, expired_at + 1].map(at), view).toEqual([
      ['fresh', 0],
      ['fresh', 0],
      ['stale', 1],
      ['stale', 1],
      ['expired', 1],
    ]);
  }
  reader.db.close();
});

it('one statement gives a product’s days with the action beside each; a date never read has no row', async () => {
  await using harness = await filledHarness({ products: 3 });
  const reader = openMirrorWithClock(harness.wiring.mirror.path);
  const [id] = harness.sandbox.world.visible().filter(({ status }) => status === 'available');
  type Row = { date: string; state: string; lowest_adult_price: number | null; action: string; price_action: string };
  const rows = (now: number) => {
    reader.set(now);
    return reader.db.prepare<[number, string], Row>(daysWithActions).all(id?.id ?? 0, 'EUR');
  };
  const now = harness.clock.now();
  expect(new Set(rows(now).map(({ action }) => action))).toEqual(new Set(['show']));
  // Twelve hours on the near dates are stale and the middle ones at the edge; the far ones, read daily, are not.
  const later = rows(now + 13 * hour);
  expect(later[1]?.action).toBe('check_first');
  expect(later.find(({ lowest_adult_price }) => lowest_adult_price !== null)?.price_action).toBe('show_as_from');
  expect(later.at(-1)?.action).toBe('show');
  // A day on, nobody has read the near ones four times in a row.
  const next = rows(now + 25 * hour);
  expect([next[0]?.action, next[0]?.price_action, next.at(-1)?.action]).toEqual(['hide', 'hide', 'check_first']);
  for (const row of rows(now)) expect(row.price_action === 'hide').toBe(row.lowest_adult_price === null);
  reader.db.close();
});
