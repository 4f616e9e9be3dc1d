import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DemoShop, startDemoShop } from '../fakes/demo-shop.ts';

/* The demo's shop beside a live daemon: its answers. Its buttons and forms are used in clicks.test.ts. */

const stack = new AsyncDisposableStack();
let demo: DemoShop;
let product_id: number;
/** A date with tickets. */
let date: string;

beforeAll(async () => {
  demo = await startDemoShop(stack);
  ({ product_id, date } = demo);
});

afterAll(() => stack.disposeAsync());

async function get(path: string): Promise<string> {
  return await (await fetch(new URL(path, demo.url))).text();
}

async function post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields);
  const answer = await fetch(new URL(path, demo.url), { method: 'POST', body, headers, redirect: 'manual' });
  return { status: answer.status, html: await answer.text() };
}

/** The hidden fields of the first form that leads to an action. */
function fieldsOf(html: string, action: string): Record<string, string> {
  const [, form = ''] = new RegExp(`<form method="post" action="${action}">(.*?)</form>`, 's').exec(html) ?? [];
  return Object.fromEntries(
    [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}

const productPage = () => get(`/product/${product_id}?date=${date}`);
const cell = (html: string) => new RegExp(`class="(\\w+)[^"]*" data-date="${date}"`).exec(html)?.[1];

describe('the shop', () => {
  it('leads from the cities to a product, and finds it by its words', async () => {
    const home = await get('/');
    const [, city = ''] = /href="(\/search\?city=\d+)"/.exec(home) ?? [];
    expect(await get(city)).toMatch(/href="\/product\/\d+"/);
    const title = demo.reader.product(product_id)?.title ?? '';
    expect(await get(`/search?text=${encodeURIComponent(title)}`)).toContain(`/product/${product_id}"`);
  });

  it('shows each image with its credit, and a date with its times and tickets', async () => {
    const html = await productPage();
    const [image] = demo.reader.images(product_id);
    expect(html).toContain(`<figure><img src="${image?.large_url?.replaceAll('&', '&amp;')}"`);
    expect(html.match(/<figcaption>/g)).toHaveLength(
      demo.reader.images(product_id).filter(({ credit }) => credit !== null).length,
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
    expect(await demo.reader.order({ ...report, time: order.time })).toMatchObject({ repeated: true });
  });

  it.each(['/product/1', '/product/x', '/nothing'])('answers %s with 404', async (path) => {
    expect((await fetch(new URL(path, demo.url))).status).toBe(404);
  });

  it('answers no page of another origin, and no name that leads here by DNS rebinding', async () => {
    const origin = 'http://other.example';
    expect((await post('/press', { button: 'close' }, { origin })).status).toBe(403);
    for (const address of [demo.url, demo.page]) {
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

describe('a press of a button', () => {
  it('is refused where no such button, product or date is', async () => {
    const press = { button: 'sell-out', product: String(product_id), date };
    for (const wrong of [{ button: 'constructor' }, { product: '999' }, { date: 'abc' }]) {
      const { status, html } = await post('/press', { ...press, ...wrong });
      expect(status).toBe(400);
      expect(html).toMatch(/<h1>There is no such (button|product, or no such date)\.<\/h1>/);
    }
  });
});
