import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type NotifiedHarness, notifiedHarness } from '../fakes/notified-harness.ts';
import { disabled, notificationOf } from '../receiver/delivery-list.ts';

const minute = 60_000;
const hour = 60 * minute;

/** A daemon with a subscription that covers everything, and the reads of it. */
async function covered(config: Record<string, unknown> = {}) {
  const asked: string[] = [];
  const test = await notifiedHarness({ served: ({ path }) => asked.push(path) }, config);
  await test.live(30 * minute);
  asked.length = 0;
  return { test, asked };
}

const addressOf = ({ harness }: NotifiedHarness) => harness.sandbox.subscriptions()[0]?.callback_url ?? '';

/** Sends a body to the callback address, as whoever knows it could. Returns the status. */
async function post(test: NotifiedHarness, body: string | Uint8Array, type = 'application/json'): Promise<number> {
  const headers = { 'content-type': type };
  return (await fetch(addressOf(test), { method: 'POST', body: new Uint8Array(Buffer.from(body)), headers })).status;
}

const states = ({ harness }: NotifiedHarness) =>
  harness.daemon.inbox.deliveries.list({ since: null, state: null, limit: 10 }).map(({ state }) => state);

describe('a delivery of another form', () => {
  const usual = (id: number) => JSON.stringify(notificationOf(id, disabled()));
  it.each<[string, (id: number) => string | Uint8Array, string?]>([
    ['gzip', (id) => gzipSync(JSON.stringify({ products: [{ product_id: id, changes: [{ change_type: 'product_details_update' }] }] }))],
    ['a field of a web form', (id) => `payload=${encodeURIComponent(usual(id))}`, 'application/x-www-form-urlencoded'],
    ['an envelope', (id) => JSON.stringify({ event: 'changed', data: JSON.parse(usual(id)) })],
    ['an array', (id) => `[${usual(id)}]`],
    ['lines', (id) => `${usual(id)}\n${usual(id)}\n`],
  ])('that is %s has its product read within a minute, and takes nothing off sale', async (_, body, type) => {
    const { test, asked } = await covered();
    await using _test = test;
    const [id = 0] = test.ids();
    expect(await post(test, body(id), type)).toBe(200);
    await test.live(minute);
    expect(asked).toContain(`/v2/products/${id}`);
    expect(test.product(id)).toMatchObject({ sellable: 1 });
    expect(states(test)).toEqual(['applied']);
  }); // biome-ignore format: a table

  it('that is gzip of the usual body closes as the usual body does', async () => {
    const { test } = await covered();
    await using _test = test;
    const [id = 0] = test.ids();
    expect(await post(test, gzipSync(usual(id)))).toBe(200);
    await test.receiving.apply();
    expect(test.product(id)).toMatchObject({ sellable: 0 });
  });
});

describe('deliveries that nobody understands', () => {
  const relied = ({ harness }: NotifiedHarness) => harness.daemon.mirror.push.coverage.covered();
  const gaps = ({ harness }: NotifiedHarness) =>
    harness.daemon.mirror.push.gaps
      .gaps({ limit: 5 })
      .map(({ subscription_id, to_at }) => [subscription_id, to_at === null]);

  it('are a gap of their subscription where three come within an hour, and nobody relies on it', async () => {
    const { test, asked } = await covered();
    await using _test = test;
    const all = relied(test);
    expect(all).toBeGreaterThan(20);
    for (const body of ['{"event":"ping"}', 'hello', gzipSync(gzipSync('{}'))]) {
      expect(test.noticed()).toEqual([]);
      expect(await post(test, body)).toBe(200);
      await test.live(10 * minute);
    }
    expect(states(test)).toEqual(['quarantined', 'quarantined', 'quarantined']);
    expect(test.noticed()).toEqual(['deliveries-not-understood']);
    expect(gaps(test)).toEqual([['all', true]]);
    expect(relied(test)).toBe(0);
    // Nothing but a good delivery ends it, also not that the service calls the subscription active.
    await test.live(3 * hour);
    expect(relied(test)).toBe(0);
    asked.length = 0;
    const [id = 0] = test.ids();
    await post(test, JSON.stringify({ product_ids: [id] }));
    await test.live(10 * minute);
    expect(test.noticed()).toEqual([]);
    expect(relied(test)).toBe(all);
    expect(gaps(test)).toEqual([['all', false]]);
    // Everything that may have been missed is read again.
    for (const each of test.ids()) expect(asked).toContain(`/v2/products/${each}`);
  });

  it('are kept aside where they are two, or three of two hours, or a good one comes in between', async () => {
    const { test } = await covered();
    await using _test = test;
    const all = relied(test);
    const say = async (body: string, ms: number) => {
      await post(test, body);
      await test.live(ms);
    };
    for (const ms of [40 * minute, 40 * minute, 2 * hour]) await say('{"event":"ping"}', ms);
    const [id = 0] = test.ids();
    const good = JSON.stringify({ product_ids: [id] });
    for (const body of ['{}', '{}', good, '{}', '{}']) await say(body, minute);
    await test.live(10 * minute);
    expect([relied(test), gaps(test), test.noticed()]).toEqual([all, [], []]);
  });

  it('are remembered over a restart', async () => {
    const { test } = await covered();
    await using _test = test;
    for (let each = 0; each < 3; each += 1) await post(test, '{"event":"ping"}');
    await test.live(2 * minute);
    await test.harness.restart();
    await test.live(5 * minute);
    expect(test.noticed()).toEqual(['deliveries-not-understood']);
    expect(relied(test)).toBe(0);
  });
});
