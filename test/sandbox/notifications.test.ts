import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { type VirtualClock, virtualClock } from '../fakes/virtual-clock.ts';
import { pass, startCallback } from './callback.ts';

const start_at = Date.parse('2026-11-21T12:30:00Z');
const second = 1000;
const minute = 60 * second;
const every = ['checkout_disabled', 'checkout_enabled', 'product_details_update'];

interface Scene extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly sandbox: Sandbox;
  readonly callback: Awaited<ReturnType<typeof startCallback>>;
  /** Products that are on sale. */
  readonly products: readonly SandboxProduct[];
  readonly ids: readonly number[];
  subscribe(id: string, request?: object): Promise<void>;
  pass(ms: number): Promise<void>;
  /** Seconds since the scene began, of each POST. */
  times(): number[];
}

/** A sandbox and one address that receives, on one clock; `s` covers the first three products unless it is asked otherwise. */
async function scene(options: Partial<SandboxOptions> = {}, answers: (number | null)[] = []): Promise<Scene> {
  const clock = virtualClock(start_at);
  const stack = new AsyncDisposableStack();
  const callback = stack.use(await startCallback(clock, answers));
  const sandbox = stack.use(await startSandbox({ clock, seed: 7, products: 60, ...options }));
  const products = sandbox.products().filter(({ status }) => status === 'available');
  const ids = products.map(({ id }) => id);
  return {
    clock,
    sandbox,
    callback,
    products,
    ids,
    subscribe: async (id, request = {}) => {
      const body = {
        subscription_type: 'product_ids',
        entity_ids: ids.slice(0, 3),
        change_types: every,
        callback_url: callback.url,
        ...request,
      };
      const url = `${sandbox.url}/v2/product-change-notification/${id}`;
      const response = await fetch(url, { method: 'PUT', body: JSON.stringify(body) });
      if (!response.ok) throw new Error(await response.text());
      await response.text();
    },
    pass: (ms) => pass(clock, sandbox, ms),
    times: () => callback.received.map(({ at }) => (at - start_at) / second),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

describe('changes of a product', () => {
  it('are held for the hold time from the first, and posted in the documented words', async () => {
    await using s = await scene();
    await s.subscribe('norland');
    const [id = 0, other = 0] = s.ids;
    s.sandbox.world.disable(id, { reason: 'out_of_season', expected_reopening: 'more_than_month', alternative: other });
    s.sandbox.world.edit(id, { field: 'whats_included', value: '* Entry' });
    await s.pass(5 * minute - 1);
    expect(s.callback.received).toEqual([]);
    expect(s.sandbox.subscriptions()).toMatchObject([{ held: 1, pending: 0 }]);
    await s.pass(1);
    expect(s.times()).toEqual([300]);
    expect(s.callback.received[0]).toMatchObject({ path: '/hooks/s', headers: { 'content-type': 'application/json' } });
    expect(s.callback.received[0]?.body).toEqual({
      subscription_id: 'norland',
      products: [
        {
          product_id: id,
          changes: [
            {
              change_type: 'checkout_disabled',
              reason_code: 'out_of_season',
              expected_reopening: 'more_than_month',
              recommended_alternative_product_id: other,
            },
            {
              change_type: 'product_details_update',
              field_name: 'whats_included',
              type: 'string',
              old_value: '* Entry\r\n* A map',
              new_value: '* Entry',
            },
          ],
        },
      ],
    });
    expect(s.sandbox.subscriptions()).toMatchObject([{ delivered: 1, failed: 0, pending: 0, held: 0, attempts: 1 }]);
  });

  it('of one type are one: only the last mutation is sent, also where it was of another field', async () => {
    await using s = await scene();
    await s.subscribe('s');
    const [id = 0] = s.ids;
    s.sandbox.world.edit(id, { field: 'description', value: 'First' });
    await s.pass(4 * minute);
    s.sandbox.world.edit(id, { field: 'title', value: 'Second' });
    s.sandbox.world.edit(id, { field: 'title', value: 'Third' });
    await s.pass(minute);
    expect(s.callback.received.map(({ body }) => body.products[0]?.changes)).toEqual([
      [expect.objectContaining({ field_name: 'title', old_value: 'Second', new_value: 'Third' })],
    ]);
  });

  it('of both directions come together, in the order in which they last happened', async () => {
    await using s = await scene();
    await s.subscribe('s');
    const [id = 0] = s.ids;
    s.sandbox.world.disable(id);
    s.sandbox.world.enable(id);
    s.sandbox.world.disable(id);
    // It is so already: nothing to announce.
    s.sandbox.world.disable(id);
    s.sandbox.world.edit(id, { field: 'title', value: s.products[0]?.title });
    await s.pass(5 * minute);
    const types = s.callback.received[0]?.body.products[0]?.changes.map(({ change_type }) => change_type);
    expect(types).toEqual(['checkout_enabled', 'checkout_disabled']);
  });

  it('start another hold when the last one is over', async () => {
    await using s = await scene({ hold_ms: minute });
    await s.subscribe('s');
    const [id = 0] = s.ids;
    for (const title of ['One', 'Two']) {
      s.sandbox.world.edit(id, { field: 'title', value: title });
      await s.pass(2 * minute);
    }
    expect(s.times()).toEqual([60, 180]);
  });

  it('that are ripe together share a POST, or have one each', async () => {
    await using s = await scene();
    await s.subscribe('s');
    for (const id of s.ids.slice(0, 3)) s.sandbox.world.disable(id);
    await s.pass(5 * minute);
    const products = () => s.callback.received.map(({ body }) => body.products.map(({ product_id }) => product_id));
    expect(products()).toEqual([s.ids.slice(0, 3)]);
    await using each = await scene({ batch: 'one product' });
    await each.subscribe('s');
    for (const id of each.ids.slice(0, 3)) each.sandbox.world.disable(id);
    await each.pass(5 * minute);
    expect(each.callback.received.map(({ body }) => body.products.map(({ product_id }) => product_id))).toEqual(
      each.ids.slice(0, 3).map((id) => [id]),
    );
  });
});

describe('a subscription', () => {
  it('hears of its products and its change types only, and of what happens after it was made', async () => {
    await using s = await scene();
    const [first = 0, second_ = 0, , , stranger = 0] = s.ids;
    await s.subscribe('closures', { change_types: ['checkout_disabled'] });
    s.sandbox.world.disable(first);
    await s.subscribe('late');
    s.sandbox.world.edit(first, { field: 'title', value: 'Other' });
    s.sandbox.world.edit(second_, { field: 'title', value: 'Other' });
    s.sandbox.world.disable(stranger);
    await s.pass(5 * minute);
    const heard = s.callback.received.map(({ body }) => [
      body.subscription_id,
      body.products.map(({ product_id, changes }) => [product_id, changes.map(({ change_type }) => change_type)]),
    ]);
    expect(heard).toEqual([
      ['closures', [[first, ['checkout_disabled']]]],
      [
        'late',
        [
          [first, ['product_details_update']],
          [second_, ['product_details_update']],
        ],
      ],
    ]);
  });

  it('by experience covers every product of it; by sales, what the partner sells', async () => {
    const sold = [703_295 + 57 * 4, 703_295 + 57 * 5];
    await using s = await scene({ sold });
    const [experience, members = []] = [...s.sandbox.world.experiences()].find(([, ids]) => ids.length > 2) ?? [];
    await s.subscribe('e', { subscription_type: 'experience_ids', entity_ids: [experience] });
    await s.subscribe('i', { subscription_type: 'products_i_sell', entity_ids: undefined });
    for (const { id } of s.sandbox.products()) s.sandbox.world.edit(id, { field: 'title', value: 'Other' });
    await s.pass(5 * minute);
    const heard = Object.fromEntries(
      s.callback.received.map(({ body }) => [body.subscription_id, body.products.map(({ product_id }) => product_id)]),
    );
    expect(heard.e).toEqual([...members].sort((a, b) => a - b));
    expect(heard.i).toEqual(sold);
  });

  it('that nobody has costs nothing: nothing is held', async () => {
    await using s = await scene();
    s.sandbox.world.disable(s.ids[0] ?? 0);
    expect(s.clock.pending()).toBe(0);
  });

  it('may silently stop: it says active, and nothing comes', async () => {
    await using s = await scene();
    await s.subscribe('s');
    s.sandbox.setSending('s', 'none');
    s.sandbox.world.disable(s.ids[0] ?? 0);
    await s.pass(6 * minute);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'active', attempts: 0, lost: 1, sending: 'none' }]);
    s.sandbox.setSending('s', 'all');
    s.sandbox.world.enable(s.ids[0] ?? 0);
    await s.pass(6 * minute);
    expect(s.callback.received).toHaveLength(1);
    expect(() => s.sandbox.setSending('none', 'all')).toThrow('no subscription none');
  });
});

describe('a delivery', () => {
  it('that is not answered with 200 is tried again after exactly 20, 40, 80, 160 and 320 seconds', async () => {
    await using s = await scene({ hold_ms: minute }, [500, 204, 302, 404, 503, 200]);
    await s.subscribe('s');
    s.sandbox.world.disable(s.ids[0] ?? 0);
    await s.pass(60 * minute);
    expect(s.times()).toEqual([60, 80, 120, 200, 360, 680]);
    expect(new Set(s.callback.received.map(({ text }) => text)).size).toBe(1);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'active', delivered: 1, failed: 0, attempts: 6 }]);
  });

  it('that is never taken degrades the subscription, which is still sent to, once each', async () => {
    await using s = await scene(
      { hold_ms: minute },
      Array.from({ length: 7 }, () => 500),
    );
    await s.subscribe('s');
    s.sandbox.world.disable(s.ids[0] ?? 0);
    await s.pass(680 * second - 1);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'active', pending: 1, attempts: 5 }]);
    await s.pass(1);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'degraded', pending: 0, failed: 1, attempts: 6 }]);
    s.sandbox.world.enable(s.ids[0] ?? 0);
    await s.pass(60 * minute);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'degraded', failed: 2, attempts: 7 }]);
    s.sandbox.world.disable(s.ids[0] ?? 0);
    await s.pass(60 * minute);
    expect(s.sandbox.subscriptions()).toMatchObject([{ status: 'degraded', delivered: 1, failed: 2, attempts: 8 }]);
  });

  it('goes on to the address that a subscription has by then', async () => {
    await using s = await scene({ hold_ms: minute }, [500]);
    await s.subscribe('s');
    s.sandbox.world.disable(s.ids[0] ?? 0);
    await s.pass(minute);
    await s.subscribe('s', { callback_url: s.callback.url.replace('/s', '/new') });
    await s.pass(minute);
    expect(s.callback.received.map(({ path }) => path)).toEqual(['/hooks/s', '/hooks/new']);
  });

  it('without an answer in time is one that failed, and counts as busy until then', async () => {
    await using s = await scene({ hold_ms: 0, callback_timeout_ms: 7000 }, [null]);
    await s.subscribe('s');
    s.sandbox.world.disable(s.ids[0] ?? 0);
    while (s.callback.received.length === 0) await setImmediate();
    expect([s.sandbox.inFlight(), s.sandbox.sleeping()]).toEqual([1, 0]);
    // Its deadline is the only thing that waits.
    expect([s.clock.pending(), s.clock.next()]).toEqual([1, true]);
    while (s.sandbox.inFlight() > 0) await setImmediate();
    expect(s.clock.now()).toBe(start_at + 7000);
    await s.pass(minute);
    expect(s.times()).toEqual([0, 27]);
  });

  it('of later changes waits for the one before, so that they arrive in order', async () => {
    await using s = await scene({ hold_ms: 0 });
    await s.subscribe('s');
    for (let value = 0; value < 20; value += 1) {
      s.sandbox.world.edit(s.ids[0] ?? 0, { field: 'title', value: String(value) });
      await setImmediate();
    }
    expect(s.sandbox.inFlight()).toBeGreaterThan(1);
    await s.pass(second);
    const values = s.callback.received.map(({ body }) => Number(body.products[0]?.changes[0]?.new_value));
    expect(values).toEqual(Array.from(values, (_, value) => value));
    expect(values).toHaveLength(20);
  });
});

describe('troubles', () => {
  /** Fifty titles change, a quarter of an hour apart. */
  async function fifty(options: Partial<SandboxOptions>) {
    const s = await scene(options);
    await s.subscribe('s');
    for (let value = 0; value < 50; value += 1) {
      s.sandbox.world.edit(s.ids[0] ?? 0, { field: 'title', value: String(value) });
      await s.pass(3 * minute);
    }
    await s.pass(15 * minute);
    return s;
  }

  const values = (s: Scene) => s.callback.received.map(({ body }) => Number(body.products[0]?.changes[0]?.new_value));

  it('lose some, although the service believes otherwise', async () => {
    await using s = await fifty({ troubles: { lost: 0.3 }, hold_ms: minute });
    const [{ delivered = 0, lost = 0, failed = 0, status = '' } = {}] = s.sandbox.subscriptions();
    expect({ sum: delivered + lost, failed, status, received: values(s).length }).toEqual({
      sum: 50,
      failed: 0,
      status: 'active',
      received: delivered,
    });
    expect(lost).toBeGreaterThan(5);
  });

  it('send some twice', async () => {
    await using s = await fifty({ troubles: { duplicated: 0.3 }, hold_ms: minute });
    expect(new Set(values(s)).size).toBe(50);
    expect(values(s).length).toBeGreaterThan(55);
  });

  it('let some overtake others, until they are set aside', async () => {
    await using s = await fifty({ troubles: { reordered: 0.5 }, hold_ms: 3 * minute });
    const came = values(s);
    const sorted = [...came].sort((a, b) => a - b);
    expect(new Set(came).size).toBe(came.length);
    expect(came).not.toEqual(sorted);
    s.sandbox.setTroubles({ reordered: 0 });
    s.sandbox.world.edit(s.ids[0] ?? 0, { field: 'title', value: '99' });
    await s.pass(3 * minute);
    expect(values(s).at(-1)).toBe(99);
  });

  it('refuse some before the receiver sees them: what is refused to the end degrades the subscription', async () => {
    await using some = await fifty({ troubles: { refused: 0.3 }, hold_ms: minute });
    const [{ attempts = 0, failed = 0, status = '' } = {}] = some.sandbox.subscriptions();
    expect({ failed, status, received: values(some).length }).toEqual({ failed: 0, status: 'active', received: 50 });
    expect(attempts).toBeGreaterThan(55);
    await using all = await fifty({ troubles: { refused: 1 }, hold_ms: minute });
    expect(values(all)).toEqual([]);
    expect(all.sandbox.subscriptions()).toMatchObject([{ delivered: 0, failed: 50, status: 'degraded' }]);
  });
});

describe('the older system', () => {
  const body = (s: Scene, index: number) => s.callback.received[index]?.body as unknown;

  it('announces each product by itself, in its own words, beside the subscriptions', async () => {
    const clock = virtualClock(start_at);
    await using legacy = await startCallback(clock);
    await using s = await scene({ clock, legacy_callback_url: legacy.url, hold_ms: minute });
    const [first = 0, second_ = 0] = s.ids;
    s.sandbox.world.disable(first, { reason: 'out_of_season', expected_reopening: 'more_than_month' });
    s.sandbox.world.edit(first, { field: 'tags', value: [1] });
    s.sandbox.world.edit(second_, { field: 'usage', value: 'Show it.' });
    await pass(clock, s.sandbox, minute);
    const none = { reason: null, reopening_date: null, alternative_product_id: null };
    expect(legacy.received.map((each) => each.body as unknown)).toEqual([
      {
        product_id: first,
        change_types: ['checkout', 'content'],
        reason: 'out_of_season',
        reopening_date: 'more_than_month',
        alternative_product_id: null,
      },
      { product_id: second_, change_types: ['content'], ...none },
    ]);
  });

  it('can be made to speak, to any address, and tries as often', async () => {
    await using s = await scene({}, [500]);
    const sent = s.sandbox.sendLegacy(s.ids[0] ?? 0, ['closure'], s.callback.url);
    await s.pass(minute);
    expect(await sent).toBe('delivered');
    expect(s.times()).toEqual([0, 20]);
    expect(body(s, 1)).toMatchObject({ product_id: s.ids[0], change_types: ['closure'] });
    expect(() => s.sandbox.sendLegacy(s.ids[0] ?? 0, ['closure'])).toThrow('no address');
    s.callback.answers.push(500);
    const interrupted = s.sandbox.sendLegacy(s.ids[0] ?? 0, ['content'], s.callback.url);
    await s.pass(second);
    await s.sandbox[Symbol.asyncDispose]();
    expect(await interrupted).toBe('ended');
  });
});
