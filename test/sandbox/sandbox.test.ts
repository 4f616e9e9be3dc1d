import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { generateCatalogue } from '../../src/sandbox/world/catalogue.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { startCallback } from './callback.ts';

const start = (options: Partial<SandboxOptions> = {}) =>
  startSandbox({ clock: systemClock, seed: 7, products: 250, ...options });

interface Answer {
  readonly products: { readonly id: string; readonly description: string | null }[];
  readonly product: { readonly description: string };
  readonly dates: { readonly date: string }[];
  readonly capped_at: string | null;
}

async function ask(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: JSON.parse(text) as Answer,
  };
}

describe('the generated catalogue', () => {
  const products = generateCatalogue(7, 7500);
  const share = (test: (product: (typeof products)[number]) => boolean) =>
    products.filter(test).length / products.length;
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;

  it('has the proportions of the real one', () => {
    expect(share(({ status }) => status === 'unavailable')).toBeCloseTo(0.051, 2);
    expect(share(({ dynamic }) => dynamic)).toBeCloseTo(0.3, 1);
    expect(share(({ slots }) => slots === 0)).toBeCloseTo(0.6, 1);
    expect(share(({ slots }) => slots === 41)).toBeGreaterThan(0.01);
    expect(share(({ rating }) => rating !== null)).toBeCloseTo(0.79, 1);
    expect(share(({ experience_ids }) => experience_ids.length > 1)).toBeCloseTo(0.45, 1);
    expect(Math.max(...products.map(({ images }) => images.length))).toBe(22);
    expect(median(products.map(({ images }) => images.length))).toBeCloseTo(4, 0);
    expect(median(products.map(({ price }) => price)) / 100).toBeGreaterThan(25);
    expect(median(products.map(({ price }) => price)) / 100).toBeLessThan(40);
    expect(products.some(({ price }) => price === 0)).toBe(true);
    expect(products.every(({ variants }) => variants.length >= 2 && variants.length <= 8)).toBe(true);
    const zones = new Set(products.map(({ place }) => place.zone));
    for (const zone of ['Pacific/Kiritimati', 'Australia/Lord_Howe', 'Asia/Kathmandu', null])
      expect(zones).toContain(zone);
    const cities = Map.groupBy(products, ({ place }) => place.city);
    expect([...cities.values()].filter((each) => each.length === 1).length).toBeGreaterThan(400);
  });

  it('is the same for the same seed, and another for another', () => {
    expect(generateCatalogue(7, 50)).toEqual(generateCatalogue(7, 50));
    expect(generateCatalogue(8, 50)).not.toEqual(generateCatalogue(7, 50));
  });
});

describe('the service it simulates', () => {
  it('pages its list: ten rows unless asked otherwise, at most a hundred, each product once', async () => {
    await using sandbox = await start();
    const first = await ask(`${sandbox.url}/v2/products`);
    expect(first.json).toMatchObject({ success: true, pagination: { page: 1, page_size: 10, total: 250 } });
    expect((await ask(`${sandbox.url}/v2/products?page_size=101`)).status).toBe(400);
    const pages = await Promise.all(
      [1, 2, 3].map((page) => ask(`${sandbox.url}/v2/products?page_size=100&page=${page}`)),
    );
    const ids = pages.flatMap(({ json }) => json.products.map(({ id }) => id));
    expect(new Set(ids).size).toBe(250);
    expect(ids.every((id) => /^\d+$/.test(id))).toBe(true);
  });

  it('leaves descriptions out of the list, and prints prices as the real one does', async () => {
    await using sandbox = await start();
    const { text, json } = await ask(`${sandbox.url}/v2/products?page_size=100`);
    const { products } = json;
    expect(products.every(({ description }) => description === null)).toBe(true);
    const detail = await ask(`${sandbox.url}/v2/products/${products[0]?.id}`);
    expect(detail.json.product.description).toContain('Open since');
    expect(text).toMatch(/"price":\d+,/);
    expect(text).toMatch(/"price":\d+\.0,/);
    expect(text).toMatch(/"price":\d+\.\d[1-9],/);
  });

  it('drifts while it is paged: rows repeat, others are missed', async () => {
    await using sandbox = await start({ drift: 1 });
    const ids: string[] = [];
    for (const page of [1, 2, 3, 4, 5]) {
      const { json } = await ask(`${sandbox.url}/v2/products?page_size=50&page=${page}`);
      ids.push(...json.products.map(({ id }) => id));
    }
    expect(ids).toHaveLength(250);
    expect(new Set(ids).size).toBeLessThan(250);
  });

  it('answers at most 31 days, names the cut, and leaves out dates without tickets', async () => {
    await using sandbox = await start();
    const product = sandbox
      .products()
      .find(({ status, closed_weekday }) => status === 'available' && closed_weekday !== null);
    const { today } = sandbox.world.dates(product ?? ({} as never));
    const url = `${sandbox.url}/v2/products/${product?.id}/availability?start_date=${today}`;
    const { json } = await ask(`${url}&end_date=2099-01-01`);
    const { dates } = json;
    expect(json.capped_at).toBe(new Date(Date.parse(today) + 30 * 86_400_000).toISOString().slice(0, 10));
    expect(dates.length).toBeLessThan(28);
    const state = sandbox.state(product?.id ?? 0, { language: 'en', currency: 'EUR', horizon: 31 });
    expect(dates.map(({ date }) => date)).toEqual(
      state?.days.filter(({ sold_out }) => !sold_out).map(({ date }) => date),
    );
    expect((await ask(`${url}&end_date=2026-02-30`)).status).toBe(400);
  });

  it('has nothing to say about days of a product that is not on sale', async () => {
    await using sandbox = await start();
    const product = sandbox.products().find(({ status }) => status === 'unavailable');
    const flag = await ask(`${sandbox.url}/v2/products/${product?.id}/availability`);
    expect(flag.json).toMatchObject({ success: true, sales_enabled: false, dates: [] });
    await using other = await start({ disabled: 'refuse' });
    expect(await ask(`${other.url}/v2/products/${product?.id}/availability`)).toMatchObject({
      status: 400,
      json: { error_code: 'checkout_disabled' },
    });
  });

  it('has the reference lists, in pages', async () => {
    await using sandbox = await start();
    for (const list of ['cities', 'countries', 'tags', 'experiences']) {
      expect(await ask(`${sandbox.url}/v2/${list}?page_size=2`)).toMatchObject({
        status: 200,
        json: { success: true, pagination: { page_size: 2 } },
      });
    }
  });

  it('checks the key, knows no other product, and says so in the documented words', async () => {
    await using sandbox = await start({ key: 'k' });
    expect(await ask(`${sandbox.url}/v2/products`)).toMatchObject({
      status: 401,
      json: { success: false, error: 'unauthorized' },
    });
    const key = { authorization: 'Token k' };
    expect((await ask(`${sandbox.url}/v2/products`, key)).status).toBe(200);
    expect(await ask(`${sandbox.url}/v2/products/1`, key)).toMatchObject({
      status: 404,
      json: { error_code: 'not_found' },
    });
  });

  it('throttles by the second of its clock, and counts who calls while told to wait', async () => {
    const clock = virtualClock(1_700_000_000_000);
    await using sandbox = await start({ clock, throttle: { per_second: 2 } });
    const status = async () => (await ask(`${sandbox.url}/v2/products`)).status;
    expect([await status(), await status(), await status()]).toEqual([200, 200, 429]);
    expect(await status()).toBe(429);
    expect(sandbox.violations()).toBe(1);
    await clock.advance(2001);
    expect(await status()).toBe(200);
  });

  it('takes for polite, in a pause of an hour, one call in two minutes after the first one, about something else', async () => {
    const clock = virtualClock(1_700_000_000_000);
    await using sandbox = await start({ clock, throttle: { per_second: 1, retry_after: 'absurd' } });
    const [one, two] = sandbox.products().map(({ id }) => `${sandbox.url}/v2/products/${id}`);
    const impolite = async (address: string | undefined, ms: number) => {
      await clock.advance(ms);
      const before = sandbox.violations();
      await ask(`${address}`);
      return sandbox.violations() - before;
    };
    await ask(`${one}`);
    expect(await impolite(one, 0)).toBe(0);
    expect(await impolite(two, 59_000)).toBe(1);
    // It was asked to wait itself by then.
    expect(await impolite(two, 2 * 60_000)).toBe(1);
    expect(await impolite(`${sandbox.url}/v2/products`, 2 * 60_000)).toBe(0);
    expect(await impolite(`${sandbox.url}/v2/experiences`, 60_000)).toBe(1);
    expect(await impolite(one, 10 * 60_000)).toBe(1);
  });

  it('prints amounts of currencies with no decimals and with three', async () => {
    await using sandbox = await start();
    const product = sandbox.products().find(({ status }) => status === 'available');
    const slots = async (currency: string) =>
      (await ask(`${sandbox.url}/v2/products/${product?.id}/availability?currency=${currency}`)).text;
    expect(await slots('JPY')).not.toMatch(/incl_vat":\d+\.[1-9]/);
    expect(await slots('KWD')).toMatch(/incl_vat":\d+\.\d{3}/);
    expect((await ask(`${sandbox.url}/v2/products?currency=XXX`)).status).toBe(400);
  });
});

describe('the virtual clock', () => {
  it('stands still until it is moved, and fires what falls due in order', async () => {
    const clock = virtualClock(1000);
    const fired: string[] = [];
    void clock.sleep(20).then(() => fired.push('b'));
    void clock.sleep(10).then(() => fired.push('a'));
    using deadline = clock.deadline(30);
    await clock.advance(25);
    expect({ fired, now: clock.now(), aborted: deadline.signal.aborted }).toEqual({
      fired: ['a', 'b'],
      now: 1025,
      aborted: false,
    });
    expect(clock.next()).toBe(true);
    expect(deadline.signal.reason).toMatchObject({ name: 'DeadlineExceeded' });
    clock.set(0);
    expect([clock.now(), clock.monotonic(), clock.pending(), clock.next()]).toEqual([0, 30.25, 0, false]);
  });
});

const minute = 60_000;
const day = 24 * 60 * minute;

it('what is held and what is tried again goes on while a harness lives, and stops no one who has nothing to do', async () => {
  await using harness = await virtualHarness({ products: 6, lean: true });
  const { sandbox, clock } = harness;
  await using callback = await startCallback(clock, [500, 500]);
  const [{ id = 0 } = {}] = sandbox.world.visible();
  await fetch(`${sandbox.url}/v2/product-change-notification/s`, {
    method: 'PUT',
    body: JSON.stringify({
      subscription_type: 'product_ids',
      entity_ids: [id],
      change_types: ['product_details_update'],
      callback_url: callback.url,
    }),
  });
  await harness.fill();
  const began = clock.now();
  sandbox.world.edit(id, { field: 'title', value: 'Other' });
  // Work that ends at once moves no clock, although somebody sleeps on it.
  expect(await harness.drive(Promise.resolve(7))).toBe(7);
  expect(clock.now()).toBe(began);
  await harness.liveUntil(began + 7 * minute);
  expect(callback.received.map(({ at }) => at - began)).toEqual([5 * minute, 5 * minute + 20_000, 6 * minute]);
  // A degraded subscription waits for its month without a sleeper.
  callback.answers.push(...Array.from({ length: 6 }, () => 500));
  sandbox.world.edit(id, { field: 'title', value: 'Another' });
  await harness.live(20 * minute);
  expect(sandbox.subscriptions()).toMatchObject([{ status: 'degraded', pending: 0, held: 0 }]);
  expect(clock.pending()).toBe(0);
  await harness.drive(clock.sleep(30 * day));
  expect(sandbox.subscriptions()).toMatchObject([{ status: 'cancelled' }]);
});
