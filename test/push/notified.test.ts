import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { runChores } from '../../src/cycle/chores.ts';
import { updateCoverage } from '../../src/push/coverage.ts';
import { needs } from '../fakes/needs.ts';
import { type NotifiedHarness, notifiedHarness } from '../fakes/notified-harness.ts';
import { putDelivery } from '../fakes/planted.ts';

const never = new AbortController().signal;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const words = { reason: 'out_of_season', expected_reopening: 'more_than_month' };
const gaps = (test: NotifiedHarness) => test.harness.daemon.mirror.push.gaps.gaps({ limit: 10 });
const covered = (test: NotifiedHarness) => test.harness.daemon.mirror.push.coverage.covered();
const subscription = (test: NotifiedHarness) => test.query<Record<string, unknown>>('SELECT * FROM subscriptions')[0];

describe('with a subscription', () => {
  it('a closed product is unsellable within the hold time, and back when it opens; a new text arrives', async () => {
    await using test = await notifiedHarness();
    const [id = 0, other = 0] = test.ids();
    const { world } = test.harness.sandbox;
    expect(subscription(test)).toMatchObject({ status: 'active', covered_products: 30 });
    world.disable(id, { ...words, alternative: other });
    await test.live(4 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
    await test.live(minute);
    expect(test.product(id)).toMatchObject({
      sellable: 0,
      disabled_reason: words.reason,
      expected_reopening: 'more_than_month',
    });
    await test.live(minute);
    expect(test.query('SELECT * FROM alternatives')).toEqual([{ product_id: id, alternative_product_id: other }]);
    world.enable(id);
    world.edit(other, { field: 'description', value: 'Twice as high.' });
    await test.live(7 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 1, disabled_reason: null });
    expect(
      test.query<{ text: string }>(
        `SELECT json_extract(document, '$.description') AS text FROM products WHERE product_id = ${other}`,
      ),
    ).toEqual([{ text: 'Twice as high.' }]);
    expect((await test.harness.compare()).first).toEqual([]);
  });

  it(
    'checkout information and variants of what it covers are read on notification, with 28 days as the backstop',
    needs('time'),
    async () => {
      const asked: string[] = [];
      await using test = await notifiedHarness(
        { products: 10, served: ({ path }) => asked.push(path) },
        {},
        { fill: 'own' },
      );
      expect(covered(test)).toBe(10);
      await test.live(8 * day, hour);
      expect(asked.filter((path) => path.includes('product-variants'))).toHaveLength(20);
      await test.live(18 * day, 3 * hour);
      expect(asked.filter((path) => path.includes('product-variants'))).toHaveLength(20);
      expect(test.query('SELECT resource FROM freshness WHERE met = 0')).toEqual([]);
    },
  );
});

it('what comes is applied at once, and what comes shortly after that a tenth of a second later, together', async () => {
  await using test = await notifiedHarness();
  const { harness } = test;
  const { deliveries } = harness.daemon.inbox;
  const [address = ''] = harness.sandbox.subscriptions().map(({ callback_url }) => callback_url);
  const send = async () => expect((await fetch(address, { method: 'POST', body: '{}' })).status).toBe(200);
  await harness.drive(harness.clock.sleep(minute));
  await send();
  await vi.waitFor(() => expect(deliveries.counts().waiting).toBe(0));
  await send();
  await send();
  await setImmediate();
  expect(deliveries.counts()).toMatchObject({ received: 3, waiting: 2 });
  await harness.drive(harness.clock.sleep(100));
  await vi.waitFor(() => expect(deliveries.counts().waiting).toBe(0));
});

describe('the receiver is away', () => {
  it.each([
    ['for five minutes: the service tries again, and nothing is missed', 5 * minute, 0],
    ['for two days: what is covered is read again, and the gap is closed', 2 * day, 1],
    ['for 32 days: the cancelled subscription is made again as well', 32 * day, 1],
  ])('%s', async (_, ms, expected) => {
    await using test = await notifiedHarness();
    const [id = 0, other = 0] = test.ids();
    const { world } = test.harness.sandbox;
    await test.live(minute);
    world.disable(id, { ...words, alternative: other });
    world.edit(other, { field: 'whats_included', value: '* Everything' });
    await test.away(ms);
    await test.live(3 * hour);
    expect(gaps(test).filter(({ subscription_id }) => subscription_id === null)).toHaveLength(expected);
    expect(gaps(test).every(({ closed_at }) => closed_at !== null)).toBe(true);
    expect(subscription(test)).toMatchObject({ status: 'active' });
    expect(test.harness.sandbox.subscriptions()).toMatchObject([{ status: 'active' }]);
    expect(test.product(id)).toMatchObject({ sellable: 0 });
    expect((await test.harness.compare()).first).toEqual([]);
    expect(covered(test)).toBe(30);
    world.enable(id);
    await test.live(7 * minute);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
  });
});

it('another master secret makes every address void: new ones are put, and the time between is a gap that is healed', async () => {
  await using test = await notifiedHarness();
  const [id = 0] = test.ids();
  const address = () => test.harness.sandbox.subscriptions()[0]?.callback_url;
  const before = address();
  await test.away(minute, { secret: 'fedcba9876543210fedcba9876543210' });
  test.harness.sandbox.world.edit(id, { field: 'description', value: 'Said to an address that is void.' });
  await test.live(3 * hour);
  expect(address()).not.toBe(before);
  expect(gaps(test)).toMatchObject([{ subscription_id: 'all', products: 30 }]);
  expect(gaps(test)[0]?.closed_at).not.toBeNull();
  expect(test.noticed()).toEqual([]);
  expect((await test.harness.compare()).first).toEqual([]);
});

it.each([
  ['found broken and mended in the same minute', 'look'],
  ['broken, and put again by a rotation before anybody looked', 'rotate'],
])('a subscription that is %s leaves a gap that is healed', async (_, how) => {
  await using test = await notifiedHarness();
  const [id = 0] = test.ids();
  const { harness } = test;
  await test.live(30 * minute);
  const body = {
    subscription_type: 'product_ids',
    entity_ids: test.ids(),
    change_types: ['checkout_disabled', 'checkout_enabled', 'product_details_update'],
    callback_url: 'http://127.0.0.1:9/elsewhere',
  };
  const url = `${harness.sandbox.url}/v2/product-change-notification/all`;
  const put = await harness.drive(fetch(url, { method: 'PUT', body: JSON.stringify(body) }));
  expect(put.status).toBe(200);
  const broken_at = harness.clock.now();
  harness.sandbox.world.disable(id, words);
  if (how === 'rotate') await harness.drive(test.work.rotate('all', new AbortController().signal));
  await test.live(3 * hour);
  expect(harness.sandbox.subscriptions()[0]?.callback_url).toContain(test.public_url);
  const [gap] = gaps(test);
  expect(gap).toMatchObject({ subscription_id: 'all', products: 30 });
  expect(gap?.from_at).toBeLessThanOrEqual(broken_at);
  expect(gap?.from_at).toBeGreaterThan(broken_at - hour);
  expect(gap?.closed_at).not.toBeNull();
  expect(test.product(id)).toMatchObject({ sellable: 0 });
  expect((await harness.compare()).first).toEqual([]);
});

describe('a flood with the right secret', () => {
  it(
    'of 5,000 posts changes nothing but the sale status of five products until their reads, within its share of calls',
    needs('time'),
    async () => {
      await using test = await notifiedHarness(
        { products: 40 },
        { budget: { requests_per_second: 10, concurrency: 4 } },
      );
      const { harness } = test;
      const address = harness.sandbox.subscriptions()[0]?.callback_url ?? '';
      const ids = test.ids();
      const cells = () =>
        ['products', 'variants', 'images', 'checkout_information', 'product_prices'].flatMap((view) =>
          test.query<Record<string, unknown>>(`SELECT * FROM ${view}`).map((row) => {
            const {
              checked_at: _,
              changed_at: __,
              verified_at: ___,
              expires_at: ____,
              stale: _____,
              expired_at: ______,
              ...rest
            } = row;
            return rest;
          }),
        );
      const before = cells();
      const forged = (post: number) => {
        const product_id = post % 2 === 0 ? (ids[post % ids.length] ?? 0) : 9_000_000 + post;
        const closed = {
          change_type: 'checkout_disabled',
          reason_code: 'forged',
          recommended_alternative_product_id: 1,
        };
        const edited = {
          change_type: 'product_details_update',
          field_name: 'title',
          type: 'string',
          new_value: 'Forged',
        };
        return JSON.stringify({ subscription_id: 'all', products: [{ product_id, changes: [closed, edited] }] });
      };
      const calls = () => harness.daemon.limiter.state().calls;
      const [called, at] = [calls(), harness.clock.now()];
      let post = 0;
      const poster = async () => {
        while (post < 5000) {
          const response = await fetch(address, { method: 'POST', body: forged(post++) });
          expect(response.status).toBe(200);
        }
      };
      await Promise.all(Array.from({ length: 20 }, poster));
      await test.receiving.apply();
      const closed = () =>
        test.query<{ n: number }>("SELECT count(*) AS n FROM products WHERE disabled_source = 'notification'")[0]?.n;
      expect(closed()).toBe(5);
      expect(harness.daemon.inbox.deliveries.counts()).toMatchObject({ received: 5000, waiting: 0 });
      await test.live(minute);
      const rate = harness.daemon.limiter.state().rate;
      const seconds = (harness.clock.now() - at) / 1000;
      // And one walk over the list, for the products that nobody knows.
      expect(calls() - called).toBeLessThanOrEqual(0.3 * rate * seconds + 8 + 1);
      await test.live(20 * minute);
      expect(cells()).toEqual(before);
      expect(test.query('SELECT resource FROM freshness WHERE met = 0')).toEqual([]);
    },
  );
});

it('a call at an address whose grace is over does not end the daemon while the disk is full', async () => {
  await using test = await notifiedHarness();
  const { inbox, mirror } = test.harness.daemon;
  const old = `${test.public_url}/${inbox.addresses.token('all', inbox.addresses.current('all', test.harness.clock.now()))}`;
  await test.harness.drive(test.work.rotate(null, never));
  await test.live(8 * day, hour);
  const full = vi.spyOn(mirror.status.outcomes, 'note').mockImplementation(() => {
    throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
  });
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  expect((await fetch(old, { method: 'POST', body: '{}' })).status).toBe(404);
  await setImmediate();
  await setImmediate();
  process.removeAllListeners('uncaughtException');
  for (const each of listeners) process.on('uncaughtException', each);
  expect(full).toHaveBeenCalled();
  full.mockRestore();
  expect(thrown).toEqual([]);
});

it('a mirror that is older than its inbox applies again what the inbox still holds', async () => {
  await using test = await notifiedHarness();
  const [id = 0] = test.ids();
  const { world } = test.harness.sandbox;
  world.edit(id, { field: 'whats_included', value: '* Everything' });
  await test.live(10 * minute);
  const { mirror, inbox } = test.harness.daemon;
  const { received } = inbox.deliveries.counts();
  const last = mirror.lastDelivery();
  putDelivery(test.harness, 0);
  expect(last).toBeGreaterThan(0);
  await test.away(minute);
  expect(test.harness.daemon.mirror.lastDelivery()).toBe(last);
  expect(test.harness.daemon.inbox.deliveries.counts()).toEqual({
    received,
    waiting: 0,
    applied: received,
    superseded: 0,
    quarantined: 0,
  });
  const marked = test.harness.daemon.mirror.schedule.records
    .ofProduct(id)
    .filter(({ notified_at }) => notified_at !== null);
  expect(marked.length).toBeGreaterThan(0);
});

it('a subscription that the service lost and found again has what it covers read again', async () => {
  await using test = await notifiedHarness();
  const { mirror, clock } = test.harness.daemon.sync;
  mirror.transaction(() => {
    mirror.push.subscriptions.missing({ subscription_id: 'all', at: clock.now() });
    mirror.push.coverage.cover(clock.now());
  });
  const chores = () => test.harness.drive(runChores(test.harness.daemon.sync, never));
  await chores();
  await test.harness.drive(test.work.compare(null, never));
  await chores();
  // The list comes first: it shows at once what was closed meanwhile.
  expect(
    test.harness.rows("SELECT due_reason FROM _record WHERE resource = 'products' AND product_id = 0"),
  ).toContainEqual({ due_reason: 'gap-healing' });
  await test.live(hour);
  expect(gaps(test)).toMatchObject([{ subscription_id: 'all', products: 30 }]);
  expect(gaps(test)[0]?.closed_at).not.toBeNull();
});

/** A signal that is aborted after so many looks at it. */
function abortedAfter(looks: number): AbortSignal {
  let left = looks;
  return Object.defineProperty(new AbortController().signal, 'aborted', { get: () => left-- <= 0 });
}

describe('coverage that is lost', () => {
  it('in a daemon that ends meanwhile brings the cadence back all the same', needs('time'), async () => {
    await using test = await notifiedHarness();
    await test.live(8 * day, hour);
    const late = () =>
      test.query<{ late: number }>(`SELECT count(*) AS late FROM _record JOIN _product USING (product_id)
        WHERE resource = 'variants' AND withdrawn_at IS NULL AND stale_at - fetched_at > ${7 * day}`)[0]?.late;
    expect(late()).toBe(30);
    const { mirror } = test.harness.daemon.sync;
    mirror.transaction(() => mirror.push.subscriptions.judged('all', { announced: 0, announceable: 9 }, 0));
    for (const looks of [0, 1]) {
      await updateCoverage(test.harness.daemon.sync, abortedAfter(looks));
      // Whatever it did before it ended: what is not covered any more has the usual cadence again.
      expect(late()).toBe(covered(test));
    }
    await test.away(minute);
    await test.live(2 * minute);
    expect(covered(test)).toBe(0);
    expect(late()).toBe(0);
  });
});

describe('a subscription that silently stops', () => {
  it(
    'is named before twenty changes were missed, and what it covers is read as if it were not there',
    needs('time'),
    async () => {
      await using test = await notifiedHarness({ products: 36 }, { cadence: { products: '1d' } });
      const { world } = test.harness.sandbox;
      const ids = test.ids();
      for (const id of ids.slice(0, 10)) world.edit(id, { field: 'whats_included', value: `* Ticket ${id}` });
      await test.live(day + hour, hour);
      expect(subscription(test)).toMatchObject({ trust: 1 });
      test.harness.sandbox.setSending('all', 'none');
      let missed = 0;
      while (!test.noticed().includes('subscription-silent') && missed < 40) {
        const id = ids[10 + missed] ?? 0;
        world.edit(id, { field: 'whats_included', value: `* Nothing ${id}` });
        missed += 1;
        await test.live(day + hour, hour);
      }
      expect(missed).toBeLessThan(20);
      expect(test.query('SELECT subscription_id FROM subscriptions WHERE trust < 0.7')).toEqual([
        { subscription_id: 'all' },
      ]);
      await test.live(5 * minute);
      expect(covered(test)).toBe(0);
    },
  );
});
