import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, systemClock, systemEntropy } from '../../src/clock.ts';
import { Breaking, DaemonLog, type DeedName, type ShownAt } from '../../src/commands/sandbox/breaking.ts';
import { startShopServer } from '../../src/commands/sandbox/shop/server.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { createLog } from '../../src/log.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { Reader } from '../../src/storefront/reader.ts';
import { startBrowser } from '../fakes/browser.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/* The demo's shop beside a live daemon, and the buttons that break the service. */

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let daemon: RunningDaemon;
let reader: Reader;
let breaking: Breaking;
let url: string;
let product_id: number;
/** A date with tickets. */
let date: string;

beforeAll(async () => {
  const { path } = stack.use(temporaryDirectory());
  const images = stack.use(await startImageHost({ clock: systemClock, seed: 1 }));
  const origin = { image_origin: images.url };
  sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 24, hold_ms: 0, ...origin }));
  const chosen = sandbox.products().find((each) => each.status === 'available' && each.images.length > 1);
  product_id = chosen?.id ?? 0;
  const door = `unix:${join(path, 'storefront.sock')}`;
  const log = new DaemonLog(systemClock);
  const port = await freePort();
  const more = {
    storefront: { listen: door },
    images: { hosts: ['127.0.0.1'] },
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
    subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
  };
  const config = testConfig(path, sandbox.url, more, { receiver_secret: createSecret(canary.master) });
  daemon = stack.use(
    await startDaemon(testMachine({ log: createLog('info', log) }), config, {
      admin: [{ listen: '127.0.0.1:0', token: 'not needed' }],
    }),
  );
  while (daemon.mirror.filledAt() === null) await daemon.tick();
  await daemon.schedule.run('subscriptions');
  reader = stack.use(openReader(daemon.mirror.path, { daemon: { listen: door } }));
  date = reader.calendar(product_id).findLast((day) => day.state === 'available')?.date ?? '';
  const page = daemon.admin[1] ?? '';
  breaking = stack.use(new Breaking({ sandbox, reader, clock: systemClock, log, page }));
  const shop = { reader, today: () => '2026-01-01', orderId: () => newId(systemEntropy) };
  const server = await startShopServer({ shop, breaking, log, page, product_id, image_origin: images.url });
  url = stack.use(server).url;
});

afterAll(() => stack.disposeAsync());

async function get(path: string): Promise<string> {
  return await (await fetch(new URL(path, url))).text();
}

async function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields);
  const answer = await fetch(new URL(path, url), { method: 'POST', body, headers, redirect: 'manual' });
  return { status: answer.status, html: await answer.text() };
}

/** The hidden fields of the first form that leads to an action. */
function fieldsOf(html: string, action: string): Record<string, string> {
  const [, form = ''] = new RegExp(`<form method="post" action="${action}">(.*?)</form>`, 's').exec(html) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

async function press(button: DeedName): Promise<number> {
  return (await post('/press', { button, product: String(product_id), date, back: '/' })).status;
}

/** Resolves once a button has measured its last press at a place. */
async function seen(button: DeedName, place: ShownAt): Promise<void> {
  const isSeen = () => breaking.buttons().find(({ name }) => name === button)?.seconds?.[place] !== null;
  while (!isSeen()) await systemClock.sleep(20);
}

const productPage = () => get(`/product/${product_id}?date=${date}`);
const cell = (html: string) => new RegExp(`class="(\\w+)[^"]*" data-date="${date}"`).exec(html)?.[1];

describe('the shop', () => {
  it('leads from the cities to a product, and finds it by its words', async () => {
    const home = await get('/');
    const [, city = ''] = /href="(\/search\?city=\d+)"/.exec(home) ?? [];
    expect(await get(city)).toMatch(/href="\/product\/\d+"/);
    const title = reader.product(product_id)?.title ?? '';
    expect(await get(`/search?text=${encodeURIComponent(title)}`)).toContain(`/product/${product_id}"`);
  });

  it('shows each image with its credit, and a date with its times and tickets', async () => {
    const html = await productPage();
    const [image] = reader.images(product_id);
    expect(html).toContain(`<figure><img src="${image?.large_url?.replaceAll('&', '&amp;')}"`);
    expect(html.match(/<figcaption>/g)).toHaveLength(
      reader.images(product_id).filter(({ credit }) => credit !== null).length,
    );
    expect(cell(html)).toBe('available');
    expect(html).toContain('action="/check"');
  });

  it('checks, orders what still holds, and reports the order once', async () => {
    const wanted = { ...fieldsOf(await productPage(), '/check'), count: '1' };
    const { html } = await post('/check', wanted);
    expect(html).toContain('Still on sale at this price');
    const order = fieldsOf(html, '/order');
    expect((await post('/order', order)).html).toContain('Ordered');
    const report = { product_id, date, quantity: 1, outcome: 'confirmed', order_id: order.order ?? '' } as const;
    expect(await reader.order({ ...report, time: order.time })).toMatchObject({ repeated: true });
  });

  it('orders nothing at a price that was not shown', async () => {
    const wanted = { ...fieldsOf(await productPage(), '/check'), count: '1', price: '1' };
    const { html } = await post('/order', wanted);
    expect(html).toContain('The offer has changed');
    expect(html).not.toContain('Ordered');
  });

  it.each(['/product/1', '/product/x', '/nothing'])('answers %s with 404', async (path) => {
    expect((await fetch(new URL(path, url))).status).toBe(404);
  });

  it('answers no page of another origin, and no name that leads here by DNS rebinding', async () => {
    const origin = 'http://other.example';
    expect((await post('/press', { button: 'close' }, { origin })).status).toBe(403);
    for (const address of [url, daemon.admin[1] ?? '']) {
      const { hostname, port } = new URL(address);
      const { promise, resolve } = Promise.withResolvers<number | undefined>();
      const { request } = await import('node:http');
      request({ host: hostname, port, path: '/', headers: { host: 'rebound.example' } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      }).end();
      expect(await promise).toBe(403);
    }
  });
});

/** The text of the shop that each button changes. */
const shows: Readonly<Record<DeedName, () => Promise<unknown>>> = {
  close: async () => (await productPage()).includes('Not on sale now'),
  'sell-out': async () => cell(await productPage()),
  price: async () => fieldsOf(await productPage(), '/check').price,
  image: async () => (await productPage()).match(/<figure>/g)?.length,
  // The dates stay on sale, and are to be checked before an order.
  empty: async () => [cell(await productPage()), reader.calendar(product_id, { from: date, to: date })[0]?.state],
  key: async () => await checked(),
  away: async () => await checked(),
};

async function checked(): Promise<string | undefined> {
  const wanted = { ...fieldsOf(await productPage(), '/check'), count: '1' };
  return /<section class="verdict (\w+)">/.exec((await post('/check', wanted)).html)?.[1];
}

const everywhere = ['shop', 'page', 'log'] as const;

describe('a button changes the service until the shop, the page and the log show it, and back', () => {
  it.each([
    ['sell-out', everywhere, 'available', 'sold_out'],
    ['price', everywhere, expect.any(String), expect.any(String)],
    ['image', everywhere, expect.any(Number), expect.any(Number)],
    ['empty', everywhere, ['available', 'available'], ['check', 'available']],
    ['key', everywhere, 'holds', 'unknown'],
    // Its line in the log stands there after ten seconds.
    ['away', ['shop', 'page'], 'holds', 'unknown'],
  ] as const)('%s', async (button, where, whole, broken) => {
    const before = await shows[button]();
    expect(before).toEqual(whole);
    expect(await press(button)).toBe(303);
    for (const place of where) await seen(button, place);
    const after = await shows[button]();
    expect(after).toEqual(broken);
    expect(after).not.toEqual(before);
    expect(await get('/')).toContain(`value="${button}" class="undo"`);
    await press(button);
    await seen(button, 'shop');
    expect(await shows[button]()).toEqual(before);
  });

  it('close, which is announced, and which a read confirms', async () => {
    await press('close');
    for (const place of everywhere) await seen('close', place);
    expect(await shows.close()).toBe(true);
    await press('close');
    // One product is read once a minute, so the shop shows this later.
    expect(sandbox.products().find(({ id }) => id === product_id)?.status).toBe('available');
  });

  it('of no such name is refused, and each that there is is tested', async () => {
    expect(
      breaking
        .buttons()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(Object.keys(shows).sort());
    expect((await post('/press', { button: 'constructor' })).status).toBe(400);
    for (const wrong of [{ product: '999' }, { product: String(product_id), date: 'abc' }])
      expect((await post('/press', { button: 'sell-out', date, ...wrong })).status).toBe(400);
  });

  it('pressed twice at once is pressed and undone', async () => {
    const price = () => sandbox.products().find(({ id }) => id === product_id)?.price;
    const before = price();
    expect(await Promise.all([press('price'), press('price')])).toEqual([303, 303]);
    expect(price()).toBe(before);
  });
});

describe('in a browser', needs('chromium'), () => {
  it('the shop searches as one types, and offends against nothing', async () => {
    await using tab = await startBrowser();
    await tab.open(url);
    const heading = await tab.value<string>(`new Promise((resolve) => {
      const search = document.querySelector('input[type=search]');
      new MutationObserver(() => resolve(document.querySelector('h1').textContent)).observe(document.body, { childList: true, subtree: true });
      search.value = 'musem';
      search.dispatchEvent(new Event('input', { bubbles: true }));
    })`);
    expect(heading).toMatch(/“musem”/);
    await tab.open(`${url}product/${product_id}?date=${date}`);
    expect(await tab.value('document.images[0].decode().then(() => document.images[0].naturalWidth)')).toBe(500);
    expect(tab.console()).toEqual([]);
  });
});
