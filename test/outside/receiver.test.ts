import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { announced, ask, callback, happens, receiving, Stage } from './stage.ts';

interface Deliveries {
  readonly deliveries: readonly { readonly delivery_id: number; readonly length: number; readonly state: string }[];
}

const stack = new AsyncDisposableStack();
let stage: Stage;
let address: URL;

/** Returns every delivery that the inbox holds, as `catalogued notifications list` prints them. */
const listed = async () =>
  (await stage.json<Deliveries>('notifications', 'list', '--limit', '1000')).deliveries.toReversed();
const post = (body: string | object, { pathname = address.pathname, method = 'POST' } = {}) =>
  ask(address.origin, pathname, { method, body });

/** Has another program hold a file of ours for writing. */
function writing(path: string): Disposable {
  const db = new Database(path);
  db.exec('BEGIN IMMEDIATE');
  return { [Symbol.dispose]: () => db.close() };
}

beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '4', '--hold', '1s'] }));
  stage.configure(await receiving(stage));
  await stage.filled();
  expect((await stage.run('subscription', 'apply')).code).toBe(0);
  address = (await callback(stage)) ?? new URL('http://127.0.0.1:9');
});
afterAll(() => stack.disposeAsync());

describe('the receiver', () => {
  it('answers 200 to what it has stored, 503 to what it cannot store, and all else with one and the same 404', async () => {
    expect((await post('first')).status).toBe(200);
    expect(await listed()).toMatchObject([{ length: 5 }]);
    {
      using _ = writing(join(stage.directory, 'data/state/inbox.db'));
      expect((await post('not stored')).status).toBe(503);
    }
    expect((await post('second')).status).toBe(200);
    expect(await listed()).toMatchObject([{ length: 5 }, { length: 6 }]);

    const wrong = await Promise.all([
      post('x', { pathname: `${address.pathname}x` }),
      post('x', { pathname: address.pathname.slice(0, -1) }),
      post('x', { pathname: '/' }),
      post('x', { pathname: '/v1/status' }),
      post('x', { method: 'PUT' }),
      ask(address.origin, address.pathname),
    ]);
    const seen = wrong.map(({ status, headers, text }) => JSON.stringify([status, headers, text]));
    expect(wrong[0]?.status).toBe(404);
    expect(new Set(seen).size).toBe(1);
    expect(await listed()).toHaveLength(2);
  });

  it('loses no delivery that it answered with 200 to a kill', async () => {
    const before = (await listed()).length;
    const kept: number[] = [];
    const { promise: some, resolve } = Promise.withResolvers<void>();
    // Each has a length of its own.
    const posts = Array.from({ length: 60 }, async (_, index) => {
      const answer = await post('k'.repeat(100 + index)).catch(() => null);
      if (answer?.status === 200) kept.push(100 + index);
      if (kept.length === 5) resolve();
    });
    await some;
    await stage.ended('SIGKILL');
    await Promise.all(posts);
    await stage.live();
    const stored = (await listed()).slice(before).map(({ length }) => length);
    expect(missing(kept, stored)).toEqual([]);
    expect(missing(kept, stored.slice(1))).not.toEqual([]);
  });

  it('stores and answers while another program writes the mirror, and what came is applied afterwards', async () => {
    const [id = 0] = await stage.service.get<number[]>('/sandbox/products');
    {
      using _ = writing(stage.mirror);
      expect((await post(announced(id, { change_type: 'checkout_disabled' }))).status).toBe(200);
      expect((await ask(stage.admin, '/healthz')).status).toBe(200);
      expect((await listed()).at(-1)?.state).toBe('waiting');
    }
    await stage.rowsOnce<{ sellable: number }>(`SELECT sellable FROM products WHERE product_id = ${id}`, ([product]) => product?.sellable === 0); // biome-ignore format: a query
    await happens(listed, (deliveries) => deliveries.at(-1)?.state === 'applied');
  });

  it('lets a forged notification take a known product off sale, and do nothing else', async () => {
    const [, known = 0, closed = 0] = await stage.service.get<number[]>('/sandbox/products');
    const shown = () =>
      stage.rows<{ product_id: number; sellable: number; title: string }>(
        'SELECT product_id, sellable, title FROM products ORDER BY 1',
      );
    const onSale = (id: number) => shown().find(({ product_id }) => product_id === id)?.sellable;
    await stage.service.post(`/sandbox/products/${closed}/disable`, { reason: 'out_of_season' });
    await happens(() => onSale(closed), (sellable) => sellable === 0); // biome-ignore format: a wait
    const before = shown();
    const title = { change_type: 'product_details_update', product_details: { title: 'forged' }, title: 'forged' };
    for (const body of [
      announced(closed, { change_type: 'checkout_enabled' }),
      announced(known, title),
      announced(77, { change_type: 'checkout_disabled' }),
      announced(77, { change_type: 'checkout_enabled' }, title),
    ])
      expect((await post(body)).status).toBe(200);
    await happens(listed, (deliveries) => deliveries.every(({ state }) => state !== 'waiting'));
    expect(shown()).toEqual(before);
    expect((await post(announced(known, { change_type: 'checkout_disabled' }))).status).toBe(200);
    await happens(() => onSale(known), (sellable) => sellable === 0); // biome-ignore format: a wait
    const others = (rows: typeof before) => rows.filter(({ product_id }) => product_id !== known);
    expect(others(shown())).toEqual(others(before));
  });
});

/** Returns those that are not among the stored ones. */
const missing = (lengths: readonly number[], stored: readonly number[]) =>
  lengths.filter((length) => !stored.includes(length));
