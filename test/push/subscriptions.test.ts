import { describe, expect, it, test } from 'vitest';
import { subscriptionsJob } from '../../src/daemon/jobs.ts';
import { instant } from '../../src/kernel/clock.ts';
import { changeTypes } from '../../src/push/subscription.rules.ts';
import {
  declaredAll,
  public_url,
  type SubscriptionHarness,
  subscriptionHarness,
} from '../fakes/subscription-harness.ts';
import { answer, payloadOf } from '../fakes/subscription-service.ts';

const never = new AbortController().signal;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const heldIds = (at: SubscriptionHarness, id = 'all') => at.service.held.get(id)?.entity_ids;
const row = (at: SubscriptionHarness, id = 'all') => at.row(id);
const view = (at: SubscriptionHarness) => at.test.all('SELECT * FROM subscriptions ORDER BY subscription_id');

describe('what is declared is kept', () => {
  it('is put once, with our address, and then only looked at once an hour', async () => {
    await using at = await subscriptionHarness();
    await at.live(10 * minute);
    expect(at.service.held.get('all')).toEqual({
      subscription_type: 'product_ids',
      entity_ids: [1, 2, 3],
      change_types: [...changeTypes],
      callback_url: `${public_url}/${at.held.token(1)}`,
      status: 'active',
    });
    expect(at.service.calls.map(({ method }) => method)).toEqual(['GET', 'PUT']);
    await at.live(3 * hour);
    expect(at.service.calls.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET', 'GET', 'GET']);
    expect(view(at)).toEqual([
      {
        subscription_id: 'all',
        type: 'product_ids',
        status: 'active',
        covered_products: 3,
        last_delivery_at: null,
        trust: null,
      },
    ]);
    expect(at.noticed()).toEqual([]);
  });

  it('waits for the first walk over the list: an unread catalogue has no products to name', async () => {
    await using at = await subscriptionHarness([declaredAll], { products: 0 });
    await at.live(10 * minute);
    expect(at.service.calls).toEqual([]);
    at.addProducts(1, 2);
    await at.live(minute);
    expect(at.service.calls).toEqual([]);
    at.sql(
      `INSERT INTO _walk (resource, edition, started_at, next_page, attempt, repeated, completed_at) VALUES ('products', 'en/EUR', 0, 0, 1, 0, 1)`,
    );
    await at.live(minute);
    expect(heldIds(at)).toEqual([1, 2]);
  });

  it('follows what is mirrored within the hour, one part for one product', async () => {
    await using at = await subscriptionHarness([declaredAll], { most: 2, products: 5 });
    await at.live(minute);
    expect([heldIds(at), heldIds(at, 'all-2'), heldIds(at, 'all-3')]).toEqual([[1, 2], [3, 4], [5]]);
    at.sql('UPDATE _product SET withdrawn_at = 1 WHERE product_id = 3');
    at.addProducts(6, 7);
    await at.live(hour);
    expect([heldIds(at), heldIds(at, 'all-2'), heldIds(at, 'all-3')]).toEqual([
      [1, 2],
      [4, 6],
      [5, 7],
    ]);
    expect(at.service.puts().map(({ path }) => path.split('/').at(-1))).toEqual([
      'all',
      'all-2',
      'all-3',
      'all-2',
      'all-3',
    ]);
  });

  it('says which products on sale no working subscription covers', async () => {
    await using at = await subscriptionHarness([{ ...declaredAll, categories: ['even'] }], { products: 5 });
    const { coverage } = at.test.mirror.push;
    expect(coverage.uncovered(2)).toEqual({
      count: 5,
      products: [
        { product_id: 1, title: null },
        { product_id: 2, title: null },
      ],
    });
    await at.live(minute);
    expect(coverage.uncovered(9).products.map(({ product_id }) => product_id)).toEqual([1, 3, 5]);
    at.sql(`UPDATE _product SET sale_status = 'disabled' WHERE product_id = 3`);
    expect(coverage.uncovered(9).count).toBe(2);
    at.sql(`UPDATE _subscription SET status = 'degraded'`);
    expect(coverage.uncovered(9).count).toBe(4);
  });

  it('that is declared no more is left alone, and said so', async () => {
    await using at = await subscriptionHarness([declaredAll, { ...declaredAll, id: 'other' }]);
    await at.live(minute);
    at.restart({ ...at.context, settings: { ...at.context.settings, declared: [declaredAll] } });
    await at.live(2 * hour);
    expect(at.service.puts()).toHaveLength(2);
    expect(view(at)).toHaveLength(1);
    expect(row(at, 'other')).toMatchObject({ declared_id: null });
    const told = () => at.log.lines().filter(({ msg }) => String(msg).includes('no longer declared'));
    expect(told()).toHaveLength(1);
    expect(view(at)).toMatchObject([{ covered_products: 3 }]);
    // The last one: nothing is left that keeps any.
    await subscriptionsJob(null, at.context.sync).run(AbortSignal.abort());
    expect(view(at)).toEqual([]);
    expect(at.test.mirror.push.coverage.uncovered(1).count).toBe(3);
    expect(told()).toHaveLength(2);
  });

  it('is adopted as it is found where nothing differs but the address', async () => {
    await using at = await subscriptionHarness();
    const token = at.held.token(at.context.addresses.current('all', instant(0)));
    at.service.held.set('all', {
      subscription_type: 'product_ids', entity_ids: [3, 1, 2], change_types: [...changeTypes], callback_url: `${public_url}/${token}/`, status: 'active',
    }); // biome-ignore format: one row
    await at.live(minute);
    expect(at.service.puts()).toHaveLength(0);
    expect(at.held.epochs()).toMatchObject([{ epoch: 1, announced_at: expect.any(Number) }]);
  });

  it('is put where the public address has moved', async () => {
    await using at = await subscriptionHarness();
    await at.live(minute);
    at.restart({ ...at.context, settings: { ...at.context.settings, public_url: 'https://new.example/x' } });
    await at.live(minute);
    expect(at.service.held.get('all')?.callback_url).toMatch(/^https:\/\/new\.example\/x\//);
    expect(at.noticed()).toEqual([]);
  });
});

describe('a PUT that fails (U15)', () => {
  it('by a timeout after its effect is repeated or found, and the address stays the same', async () => {
    await using at = await subscriptionHarness();
    const lost = Promise.withResolvers<void>();
    at.service.script.push((_call, response) => answer(response, 404, {}));
    at.service.script.push((_call, _response, effect) => {
      effect();
      lost.resolve();
    });
    const maintaining = at.work.maintain(never);
    await lost.promise;
    await at.clock.advance(minute);
    await maintaining;
    expect(row(at)).toMatchObject({ failures: 1, failure: expect.stringMatching(/^failed: no complete answer/) });
    await at.live(10 * minute);
    expect(at.service.held.size).toBe(1);
    expect(new Set(at.service.puts().map(({ body }) => payloadOf(body).callback_url)).size).toBe(1);
    expect(at.held.epochs()).toMatchObject([{ epoch: 1, announced_at: expect.any(Number) }]);
    expect(row(at)).toMatchObject({ failures: 0, status: 'active' });
  });

  it('with 400 is named at once, and not repeated all the time', async () => {
    await using at = await subscriptionHarness();
    at.service.verify = () => ({ status: 400, error_code: 'payload_decode_error' });
    await at.live(6 * hour, 10 * minute);
    expect(row(at)?.failure_kind).toBe('refused');
    expect(row(at)?.failure).toMatch(/^refused: .*signing\.key_file.*\(payload_decode_error\)$/);
    expect(at.noticed()).toEqual(['subscription-failing']);
    expect(at.service.puts().length).toBeLessThanOrEqual(7);
    at.service.verify = () => null;
    await at.live(day, 10 * minute);
    expect(at.noticed()).toEqual([]);
    expect(row(at)).toMatchObject({ status: 'active', failures: 0 });
  });
});

describe('a subscription that does not send', () => {
  const degrade = (at: SubscriptionHarness, status: string) => {
    const held = at.service.held.get('all');
    if (held !== undefined) held.status = status;
  };

  it.each(['degraded', 'failed'])(
    'because it is %s is reactivated within the hour, after a self-test, with a condition',
    async (status) => {
      await using at = await subscriptionHarness();
      await at.live(minute);
      degrade(at, status);
      at.service.script.push((_call, response) => answer(response, 200, { status, ...at.service.held.get('all') }));
      at.selfTest = 'failed';
      await at.live(hour);
      expect(at.noticed()).toEqual(['subscription-broken']);
      expect(row(at)).toMatchObject({ status, failure: 'self-test: no answer in time' });
      at.selfTest = 'passed';
      await at.live(20 * minute);
      expect(at.service.held.get('all')?.status).toBe('active');
      expect(at.service.calls.filter(({ path }) => path.endsWith('/reactivate'))).toHaveLength(1);
      expect(at.noticed()).toEqual([]);
      await at.live(2 * hour);
      expect(row(at)).toMatchObject({ failures: 0, failure: null, not_before: null });
    },
  );
});

describe('two daemons with one subscription id', () => {
  it('do not fight: a condition, and one PUT a day', async () => {
    await using at = await subscriptionHarness();
    await at.live(minute);
    for (let tick = 0; tick < 3 * 24; tick += 1) {
      const held = at.service.held.get('all');
      if (held !== undefined) held.callback_url = 'https://somebody.example/hooks/else';
      await at.live(hour, 10 * minute);
      expect(at.noticed()).toEqual(['subscription-taken']);
    }
    expect(at.service.puts().length - 1).toBeLessThanOrEqual(3);
    expect(at.service.puts().length - 1).toBeGreaterThanOrEqual(2);
    await at.live(25 * hour, 10 * minute);
    expect(at.noticed()).toEqual([]);
  });

  it('are not what a new installation finds of the one before it: it puts its own address, without a condition', async () => {
    await using at = await subscriptionHarness();
    at.service.held.set('all', {
      subscription_type: 'product_ids', entity_ids: [1, 2, 3], change_types: [...changeTypes], callback_url: `${public_url}/old`, status: 'active',
    }); // biome-ignore format: one row
    await at.live(minute);
    expect(at.service.held.get('all')?.callback_url).toBe(`${public_url}/${at.held.token(1)}`);
    expect(at.noticed()).toEqual([]);
  });
});

describe('a dry run', () => {
  it('says what it would do, and changes nothing: not at the service, not here', async () => {
    await using at = await subscriptionHarness([
      declaredAll,
      { id: 'sold', type: 'products_i_sell', change_types: ['checkout_disabled'] },
    ]);
    const before = at.test.all('SELECT * FROM _subscription');
    expect(await at.work.apply('dry', never)).toEqual([
      {
        subscription_id: 'all',
        action: 'create',
        differences: ['not there'],
        request: { subscription_type: 'product_ids', entity_ids: [1, 2, 3], change_types: [...changeTypes] },
        done: true,
        message: null,
      },
      {
        subscription_id: 'sold',
        action: 'create',
        differences: ['not there'],
        request: { subscription_type: 'products_i_sell', change_types: ['checkout_disabled'] },
        done: true,
        message: null,
      },
    ]);
    expect(at.service.calls.map(({ method }) => method)).toEqual(['GET', 'GET']);
    expect(at.test.all('SELECT * FROM _subscription')).toEqual(before);
    expect(at.held.epochs()).toEqual([]);
  });

  it('is what a run then does, and a second run does nothing', async () => {
    await using at = await subscriptionHarness();
    const foreseen = await at.work.apply('dry', never);
    expect(await at.work.apply('now', never)).toEqual(foreseen);
    expect(await at.work.apply('now', never)).toMatchObject([{ action: 'none', differences: [], request: null }]);
    expect(at.service.puts()).toHaveLength(1);
    const held = at.service.held.get('all');
    if (held !== undefined) held.entity_ids = [1, 9];
    expect(await at.work.apply('dry', never)).toMatchObject([
      { action: 'update', differences: ['entity_ids: 2 more, 1 less'] },
    ]);
    expect(await at.work.compare('all', never)).toMatchObject([
      { differences: ['entity_ids: 2 more, 1 less'], service: { status: 'active' } },
    ]);
    expect(heldIds(at)).toEqual([1, 9]);
  });
});

test('an id that nobody declares is refused, with those that are', async () => {
  await using at = await subscriptionHarness();
  await expect(at.work.rotate('alll', never)).rejects.toMatchObject({ exitCode: 64, hint: 'use one of all' });
});
