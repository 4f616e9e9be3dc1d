import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { announced, ask, callback, happens, receiving, Stage } from './stage.ts';

const stack = new AsyncDisposableStack();
let stage: Stage;
let config: Readonly<Record<string, object>>;

const address = async () => (await callback(stage)) ?? new URL('http://127.0.0.1:9');
const post = async ({ origin, pathname }: URL, body: object = announced(77)) =>
  (await ask(origin, pathname, { body })).status;
const another = (than: URL) => happens(address, ({ href }) => href !== than.href);

beforeAll(async () => {
  stage = stack.use(await Stage.open({ service: ['--products', '4', '--hold', '1s'] }));
  config = await receiving(stage);
  stage.configure(config);
  await stage.filled();
  expect((await stage.run('subscription', 'apply')).code).toBe(0);
});
afterAll(() => stack.disposeAsync());

describe('the callback address', () => {
  it('is replaced by a rotation that is killed half-way, and the old one and the new one are accepted', async () => {
    const old = await address();
    // The service has taken the new address, and the daemon never learns it.
    await stage.service.quirks({ faults: [{ kind: 'hang', method: 'PUT', effect: 'taken' }] });
    await using rotation = stage.start('subscription', 'rotate', 'all');
    const replaced = await another(old);
    expect([await post(old), await post(replaced)]).toEqual([200, 200]);
    await stage.ended('SIGKILL');
    await rotation.end();
    await stage.service.quirks({ faults: [] });
    await stage.live();
    expect([await post(old), await post(replaced)]).toEqual([200, 200]);
    expect((await stage.run('subscription', 'apply')).code).toBe(0);
    const now = await address();
    expect([await post(old), await post(replaced), await post(now)]).toEqual([200, 200, 200]);
    // An address that nobody was told is none (control).
    now.pathname = now.pathname.replace(/.$/, '_');
    expect(await post(now)).toBe(404);
  });

  it('follows a changed secret by itself, and what the service announces from then on is shown', async () => {
    const old = await address();
    const [id = 0] = await stage.service.get<number[]>('/sandbox/products');
    await stage.ended();
    const { receiver } = await receiving(stage, 'another-secret-of-at-least-32-characters');
    stage.configure({ ...config, receiver: { ...receiver, listen: old.host, public_url: `${old.origin}/hooks` } });
    await stage.live();
    const replaced = await another(old);
    expect([await post(replaced), await post(old)]).toEqual([200, 404]);
    await stage.service.post(`/sandbox/products/${id}/edit`, { field: 'title', value: 'announced' });
    const sql = `SELECT title FROM products WHERE product_id = ${id}`;
    await stage.rowsOnce<{ title: string }>(sql, ([product]) => product?.title === 'announced');
  });
});
