import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { all, kind, type Quirks } from '../../src/sandbox/rough/quirks.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { type VirtualClock, virtualClock } from '../fakes/virtual-clock.ts';

const noon = Date.parse('2026-11-21T12:30:00Z');

interface Rough {
  readonly clock: VirtualClock;
  readonly sandbox: Sandbox;
  readonly id: number;
  ask(path: string): Promise<Response>;
  json(path: string): Promise<Answer>;
}

interface Answer {
  readonly products: {
    id: string;
    title: string;
    price: number;
    images: { large: string }[] | null;
    ratings: object;
  }[];
  readonly product: Answer['products'][number] & { readonly sale_status: string; readonly views_today?: number };
  readonly pagination: { readonly page: number; readonly page_size: number; readonly total: number };
  readonly dates: { readonly date: string; readonly availability: number }[];
  readonly capped_at: string | null;
  readonly sales_enabled: boolean;
  readonly request_id?: string;
}

/** A sandbox with these quirks, and a product that is sold every day of the week. */
async function rough(quirks: Partial<Quirks>, products = 30): Promise<Rough & AsyncDisposable> {
  const clock = virtualClock(noon);
  const sandbox = await startSandbox({ clock, seed: 1, products, hold_ms: 0, quirks });
  const sold = sandbox
    .products()
    .find(({ status, closed_weekday, place }) => status === 'available' && closed_weekday === null && place.zone);
  const ask = (path: string) => fetch(`${sandbox.url}/v2${path}`);
  return {
    clock,
    sandbox,
    id: sold?.id ?? 0,
    ask,
    json: async (path) => (await (await ask(path)).json()) as Answer,
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

const window = 'start_date=2026-12-02&end_date=2026-12-20';
const datesOf = ({ dates }: Answer) => dates.map(({ date }) => date);

describe('a kind sandbox', () => {
  it('has none of the quirks, and takes on what it is given, one by one', async () => {
    await using service = await rough({});
    expect(service.sandbox.quirks()).toEqual(kind);
    service.sandbox.setQuirks({ unrated: 'zero' });
    service.sandbox.setQuirks({ page_size: 'ignored' });
    expect(service.sandbox.quirks()).toEqual({ ...kind, unrated: 'zero', page_size: 'ignored' });
  });

  it('differs in every quirk from one that has them all', () => {
    const names = Object.keys(kind) as (keyof Quirks)[];
    for (const name of names.filter((each) => each !== 'date_cap'))
      expect([name, all[name]]).not.toEqual([name, kind[name]]);
  });
});

describe('its own cache', () => {
  it('shows dates for so long after a change as they were, and the product for half as long', async () => {
    await using service = await rough({ cached_ms: 6000 });
    const { clock, sandbox, id, json } = service;
    const shown = async () => [
      (await json(`/products/${id}`)).product.sale_status,
      (await json(`/products/${id}/availability`)).sales_enabled,
    ];
    sandbox.world.disable(id);
    await clock.advance(10_000);
    expect(await shown()).toEqual(['unavailable', false]);
    sandbox.world.enable(id);
    expect(await shown()).toEqual(['unavailable', false]);
    await clock.advance(2999);
    expect(await shown()).toEqual(['unavailable', false]);
    await clock.advance(1);
    expect(await shown()).toEqual(['available', false]);
    await clock.advance(2999);
    expect(await shown()).toEqual(['available', false]);
    await clock.advance(1);
    expect(await shown()).toEqual(['available', true]);
  });

  it('shows each of several changes in its turn', async () => {
    await using service = await rough({ cached_ms: 4000 });
    const { clock, sandbox, id, json } = service;
    const product = sandbox.world.find(id) as NonNullable<ReturnType<typeof sandbox.world.find>>;
    const title = async () => (await json(`/products/${id}`)).product.title;
    const original = await title();
    product.title = 'second';
    await clock.advance(1000);
    product.title = 'third';
    await clock.advance(500);
    expect(await title()).toBe(original);
    await clock.advance(500);
    expect(await title()).toBe('second');
    await clock.advance(1000);
    expect(await title()).toBe('third');
  });

  it('also hides that a date sold out, while the state says so at once', async () => {
    await using service = await rough({ cached_ms: 6000 });
    const { clock, sandbox, id, json } = service;
    const [date = ''] = datesOf(await json(`/products/${id}/availability?${window}`));
    sandbox.world.find(id)?.sold_out.add(date);
    expect(datesOf(await json(`/products/${id}/availability?${window}`))).toContain(date);
    const { days = [] } = sandbox.state(id, { language: 'en', currency: 'EUR', horizon: 92 }) ?? {};
    expect(days.find((day) => day.date === date)).toMatchObject({ sold_out: true });
    await clock.advance(6000);
    expect(datesOf(await json(`/products/${id}/availability?${window}`))).not.toContain(date);
  });

  it('keeps the pages of the list on their own, and is gone when the quirk is', async () => {
    await using service = await rough({ cached_ms: 6000 });
    const { clock, sandbox, id, json } = service;
    const listed = async () => (await json('/products?page_size=100')).products.find((row) => row.id === String(id));
    expect(await listed()).toBeDefined();
    await clock.advance(4000);
    const product = sandbox.world.find(id);
    if (product !== null) product.withdrawn = true;
    expect(await listed()).toBeDefined();
    await clock.advance(2000);
    expect(await listed()).toBeUndefined();
    if (product !== null) product.withdrawn = false;
    sandbox.setQuirks({ cached_ms: 0 });
    expect(await listed()).toBeDefined();
  });
});

describe('the dates of an answer', () => {
  it('are those that were asked for, unless the service ignores, moves or rounds them', async () => {
    await using service = await rough({});
    const { sandbox, id, json } = service;
    const spans: Record<string, unknown> = {};
    for (const dates of ['honoured', 'ignored', 'shifted', 'weeks'] as const) {
      sandbox.setQuirks({ dates });
      const found = datesOf(await json(`/products/${id}/availability?${window}`));
      spans[dates] = [found[0], found.at(-1)];
    }
    expect(spans).toEqual({
      honoured: ['2026-12-02', '2026-12-20'],
      ignored: ['2026-11-21', '2026-12-21'],
      shifted: ['2028-01-06', '2028-01-24'],
      weeks: ['2026-11-30', '2026-12-20'],
    });
  });

  it('come in any order, or twice', async () => {
    await using service = await rough({});
    const { sandbox, id, json } = service;
    const path = `/products/${id}/availability?${window}`;
    const ascending = datesOf(await json(path));
    sandbox.setQuirks({ date_order: 'shuffled' });
    const shuffled = datesOf(await json(path));
    expect(shuffled).not.toEqual(ascending);
    expect(shuffled.toSorted()).toEqual(ascending);
    sandbox.setQuirks({ date_order: 'repeated' });
    const repeated = datesOf(await json(path));
    expect(repeated.length).toBeGreaterThan(ascending.length);
    expect([...new Set(repeated)]).toEqual(ascending);
  });
});

describe('the pages of the list', () => {
  it('have ten rows where the service does not care how many are wanted', async () => {
    await using service = await rough({ page_size: 'ignored' });
    const { products, pagination } = await service.json('/products?page_size=100');
    expect([products.length, pagination]).toEqual([10, { page: 1, page_size: 10, total: 30 }]);
  });

  it('stand in another order at each walk, and hold still during one', async () => {
    await using service = await rough({ list_order: 'shifting' });
    const walk = async () => {
      const pages = [
        await service.json('/products?page_size=15&page=1'),
        await service.json('/products?page_size=15&page=2'),
      ];
      return pages.flatMap(({ products }) => products.map(({ id }) => id));
    };
    const [one, two] = [await walk(), await walk()];
    expect(one).not.toEqual(two);
    expect(new Set(one).size).toBe(30);
    expect(one.toSorted()).toEqual(two.toSorted());
  });

  it('never end, and none of them says so', async () => {
    await using service = await rough({ list_end: 'never' });
    for (const page of [1, 2, 50]) {
      const { products, pagination } = await service.json(`/products?page_size=20&page=${page}`);
      expect(products).toHaveLength(20);
      expect(pagination.total).toBeGreaterThan(page * 20);
    }
  });
});

describe('calls that go wrong', () => {
  it.each([503, 429])('a share is answered %d for no reason, without Retry-After', async (status) => {
    await using service = await rough({ faults: [{ kind: 'status', status, of: 'answers', share: 0.2 }] });
    const answers = await Promise.all(Array.from({ length: 200 }, () => service.ask('/products?page_size=1')));
    const stray = answers.filter((answer) => answer.status === status);
    expect(stray.length).toBeGreaterThan(20);
    expect(stray.length).toBeLessThan(60);
    expect(answers.every(({ headers }) => headers.get('retry-after') === null)).toBe(true);
  });

  it('a share is cut by a reset', async () => {
    await using service = await rough({ faults: [{ kind: 'reset', of: 'answers', share: 0.2 }] });
    const ended = await Promise.allSettled(Array.from({ length: 100 }, () => service.ask('/products?page_size=1')));
    expect(ended.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(5);
  });

  it('so many a second are let through, and the rest told to wait', async () => {
    await using service = await rough({ limit: 10 });
    const answers = await Promise.all(Array.from({ length: 30 }, () => service.ask('/products?page_size=1')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toBe('2');
    service.sandbox.setQuirks({ limit: null });
    expect((await service.ask('/products?page_size=1')).status).toBe(200);
  });
});

it('only the calls of the specification exist, where it is all that the service has', async () => {
  await using service = await rough({ endpoints: 'specification' });
  const { id, ask, sandbox } = service;
  const status = async (path: string) => (await ask(path)).status;
  for (const path of [
    '/products',
    ...['checkout_information', 'availability', 'product-variants'].map((part) => `/products/${id}/${part}`),
  ])
    expect([path, await status(path)]).toEqual([path, 200]);
  for (const path of [`/products/${id}`, '/experiences', '/cities', '/tags', '/product-change-notification/mine'])
    expect([path, await status(path)]).toEqual([path, 404]);
  const body = JSON.stringify({
    subscription_type: 'products_i_sell',
    change_types: ['checkout_disabled'],
    callback_url: 'http://127.0.0.1:9/',
  });
  const url = `${sandbox.url}/v2/product-change-notification/mine`;
  expect((await fetch(url, { method: 'PUT', body })).status).toBe(201);
  expect((await fetch(`${url}/reactivate`, { method: 'POST' })).status).toBe(404);
});

describe('what answers say', () => {
  it('is zero over nothing of a product that nobody has rated', async () => {
    await using service = await rough({ unrated: 'zero' });
    const { products } = await service.json('/products?page_size=100');
    const unrated = service.sandbox.products().find(({ rating }) => rating === null);
    expect(products.find(({ id }) => id === String(unrated?.id))?.ratings).toEqual({ average: 0, total: 0 });
  });

  it('is null for the images of some rows and some single reads, and the state knows the others', async () => {
    await using service = await rough({ images_null: 0.3 });
    const { products } = await service.json('/products?page_size=100');
    const without = products.filter(({ images }) => images === null);
    expect(without.length).toBeGreaterThan(2);
    expect(without.length).toBeLessThan(20);
    const details = await Promise.all(products.map(({ id }) => service.json(`/products/${id}`)));
    const read = details.filter(({ product }) => product.images === null);
    expect(read.length).toBeGreaterThan(2);
    expect(read.map(({ product }) => product.id)).not.toEqual(without.map(({ id }) => id));
    const state = service.sandbox.state(Number(without[0]?.id), { language: 'en', currency: 'EUR', horizon: 1 });
    expect(state?.entry.images).toBe(null);
  });

  it('has counters that no other answer has, and counts of tickets that differ a little', async () => {
    await using service = await rough({ counters: 'differing' });
    const { sandbox, id, json } = service;
    const path = `/products/${id}/availability?${window}`;
    const answers = [await json(path), await json(path), await json(path)];
    expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(3);
    const counts = answers.map(({ dates }) => dates[0]?.availability ?? 0);
    expect(new Set(counts).size).toBe(3);
    const { days = [], counts_differ_by = 0 } =
      sandbox.state(id, { language: 'en', currency: 'EUR', horizon: 92 }) ?? {};
    const true_count = days.find(({ date }) => date === answers[0]?.dates[0]?.date)?.availability ?? 0;
    expect(Math.min(...counts)).toBe(true_count);
    expect(Math.max(...counts)).toBe(true_count + counts_differ_by);
    const [one, two] = [await json(`/products/${id}`), await json(`/products/${id}`)];
    expect(one.product.views_today).not.toBe(two.product.views_today);
  });

  it('carries what a terminal and a browser would act on, and one title is very long', async () => {
    await using service = await rough({ escapes: 0.5 });
    const { products } = await service.json('/products?page_size=100');
    const noisy = products.filter(({ title }) => title.includes('\u001b'));
    expect(noisy.length).toBeGreaterThan(5);
    for (const sign of ['\u0007', '\u202e', '\u009b', '<script>']) expect(noisy[0]?.title).toContain(sign);
    expect(products.filter(({ title }) => title.length > 50_000)).toHaveLength(1);
    expect(products.some(({ title }) => !title.includes('\u001b'))).toBe(true);
  });

  it('has negative prices and addresses that lead elsewhere, and the state names them', async () => {
    await using service = await rough({ hostile_values: 0.3 });
    const { sandbox, json } = service;
    const { products } = await json('/products?page_size=100');
    const hostile = products.filter(({ price }) => price < 0);
    expect(hostile.length).toBeGreaterThan(3);
    const urls = hostile[0]?.images?.map(({ large }) => large) ?? [];
    for (const start of ['file:', 'javascript:', 'http://10.0.0.1/', 'http://127.0.0.1/'])
      expect(urls.some((url) => url.startsWith(start))).toBe(true);
    const question = { language: 'en', currency: 'EUR', horizon: 40 };
    const onSale = hostile.find(({ id }) => sandbox.world.find(Number(id))?.status === 'available');
    const state = sandbox.state(Number(onSale?.id), question);
    expect(state?.hostile).toMatchObject({ from_price: true, images: { length: 5 } });
    const body = await (await service.ask(`/products/${onSale?.id}/availability`)).text();
    expect(body).toMatch(/"total_retail_price_incl_vat":-\d/);
    const kindly = products.find(({ price }) => price >= 0);
    expect(sandbox.state(Number(kindly?.id), question)?.hostile).toBe(null);
  });
});

describe('its time', () => {
  it('is ahead in the Date of every answer', async () => {
    await using service = await rough({ clock_skew_ms: 3_600_000 });
    expect((await service.ask('/products')).headers.get('date')).toBe('Sat, 21 Nov 2026 13:30:00 GMT');
  });

  it('passes before an answer comes', async () => {
    await using service = await rough({ slow_ms: 5000 });
    let answered = 0;
    const answer = service.ask('/products').then(() => {
      answered = service.clock.now();
    });
    while (service.sandbox.sleeping() === 0) await systemClock.sleep(1);
    await service.clock.advance(4999);
    expect([service.sandbox.sleeping(), answered]).toEqual([1, 0]);
    await service.clock.advance(1);
    await answer;
    expect(answered).toBe(noon + 5000);
  });
});

it('the same seed is rough in the same way', async () => {
  const refusals = all.faults.filter(({ kind }) => kind === 'status');
  const seen = async () => {
    await using service = await rough({ ...all, limit: null, slow_ms: 0, faults: refusals, cached_ms: 0 });
    const answers: string[] = [];
    for (let page = 1; page <= 5; page += 1) answers.push(await (await service.ask(`/products?page=${page}`)).text());
    return answers;
  };
  expect(await seen()).toEqual(await seen());
});
