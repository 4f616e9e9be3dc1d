import { describe, expect, it } from 'vitest';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { lieKinds } from '../../src/sandbox/rough/lies.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const noon = Date.parse('2026-11-21T12:30:00Z');
const minute = 60_000;

type Json = Record<string, unknown>;

/** A sandbox whose faults are set over HTTP, and a product that is on sale. */
async function service(seed = 1) {
  const clock = virtualClock(noon);
  const sandbox = await startSandbox({ clock, seed, products: 60 });
  const sold = sandbox.products().find(({ status, place, price }) => status === 'available' && place.zone && price > 0);
  const id = sold?.id ?? 0;
  const ask = (path: string) => fetch(`${sandbox.url}/v2${path}`);
  const json = async (path: string) => (await (await ask(path)).json()) as Json;
  const set = async (body: unknown) =>
    await fetch(`${sandbox.url}/sandbox/quirks`, { method: 'POST', body: JSON.stringify(body) });
  return {
    clock,
    sandbox,
    id,
    ask,
    json,
    set,
    tell: async (...faults: FaultRule[]) => expect((await set({ faults })).status).toBe(200),
    dates: (of = id) => json(`/products/${of}/availability`) as Promise<Json & { dates: Json[]; variants: Json[] }>,
    detail: async (of = id) => (await json(`/products/${of}`)).product as Json,
    rows: async () => (await json('/products?page_size=100')).products as (Json & { id: string })[],
    listed: async (of = id) =>
      ((await json('/products?page_size=100')).products as Json[]).find((row) => row.id === String(of)) as Json,
    checkout: async () => (await json(`/products/${id}/checkout_information`)).additional_information as Json,
    variants: async () => (await json(`/products/${id}/product-variants`)).variants as Json[],
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

/** The first price of the first date. */
const priceOf = ({ dates }: { dates: Json[] }) =>
  Number(/"total_retail_price_incl_vat":([\d.]+)/.exec(JSON.stringify(dates))?.[1]);

describe('a lie that is set over HTTP', () => {
  it('empties the dates of a product that is on sale, and nothing else', async () => {
    await using lying = await service();
    expect((await lying.dates()).dates).not.toEqual([]);
    const [row, product] = [await lying.listed(), await lying.detail()];
    await lying.tell({ kind: 'no-dates' });
    expect(await lying.dates()).toMatchObject({ sales_enabled: true, dates: [], variants: [] });
    expect([await lying.listed(), await lying.detail()]).toEqual([row, product]);
  });

  it.each([
    ['^/v2/products[?]', ['unavailable', 'available', true]],
    ['/products/[0-9]+$', ['available', 'unavailable', true]],
    ['/availability', ['available', 'available', false]],
    ['', ['unavailable', 'unavailable', false]],
  ])('takes a product off sale in the answers of path %j', async (path, expected) => {
    await using lying = await service();
    await lying.tell({ kind: 'off-sale', path });
    const { sales_enabled, dates } = await lying.dates();
    expect([(await lying.listed()).sale_status, (await lying.detail()).sale_status, sales_enabled]).toEqual(expected);
    expect(dates.length > 0).toBe(sales_enabled);
  });

  it.each([0.01, 100])('multiplies every amount by %d', async (factor) => {
    await using lying = await service();
    const before = [
      Number((await lying.listed()).price),
      Number((await lying.detail()).price),
      priceOf(await lying.dates()),
    ];
    await lying.tell({ kind: 'prices', factor });
    const after = [
      Number((await lying.listed()).price),
      Number((await lying.detail()).price),
      priceOf(await lying.dates()),
    ];
    for (const [index, price] of after.entries()) expect(price).toBeCloseTo((before[index] ?? 0) * factor, 1);
  });

  it('names one amount in the place of every other', async () => {
    await using lying = await service();
    await lying.tell({ kind: 'prices', amount: 0.01 });
    const prices = [(await lying.listed()).price, (await lying.detail()).price, priceOf(await lying.dates())];
    expect(prices.map(Number)).toEqual([0.01, 0.01, 0.01]);
  });

  it('names another currency than was asked for', async () => {
    await using lying = await service();
    await lying.tell({ kind: 'currency', currency: 'USD' });
    expect([(await lying.listed()).currency, (await lying.detail()).currency]).toEqual(['USD', 'USD']);
    const named = JSON.stringify(await lying.dates()).match(/"currency":"\w+"/g);
    expect(new Set(named)).toEqual(new Set(['"currency":"USD"']));
  });

  it('empties texts, or variants', async () => {
    await using lying = await service();
    expect([(await lying.checkout()).usage, (await lying.variants()).length > 0]).toEqual([expect.any(String), true]);
    await lying.tell({ kind: 'no-texts' }, { kind: 'no-variants' });
    expect(Object.values(await lying.checkout())).toEqual(Array(7).fill(null));
    expect(await lying.variants()).toEqual([]);
    expect(await lying.detail()).toMatchObject({ title: expect.any(String), description: null });
    expect((await lying.dates()).variants).not.toEqual([]);
  });

  it('is told with the others that are about the same record', async () => {
    await using lying = await service();
    const before = Number((await lying.detail()).price);
    await lying.tell({ kind: 'prices', factor: 2 }, { kind: 'off-sale' });
    const { price, sale_status } = await lying.detail();
    expect([price, sale_status]).toEqual([2 * before, 'unavailable']);
  });

  it.each(lieKinds)('changes nothing of what is so: %s', async (kind) => {
    await using lying = await service();
    const question = { language: 'en', currency: 'EUR', horizon: 40 };
    const state = lying.sandbox.state(lying.id, question);
    await lying.tell({
      kind,
      factor: 3,
      currency: 'USD',
      ...(kind === 'respelt' ? { member: 'price', as: 'text' } : {}),
    });
    // The state also names the members that are spelt otherwise.
    expect({ ...lying.sandbox.state(lying.id, question), differing: [] }).toEqual(state);
  });
});

describe('a share', () => {
  const closed = (rows: { id: string; sale_status?: unknown }[]) =>
    rows.flatMap(({ id, sale_status }) => (sale_status === 'unavailable' ? [id] : []));

  it('is one of the records: the same ones in every read, for as long as the lie is told', async () => {
    await using lying = await service();
    const before = closed(await lying.rows());
    await lying.tell({ kind: 'off-sale', share: 0.3 });
    const after = closed(await lying.rows());
    expect(after.length - before.length).toBeGreaterThan(8);
    expect(after.length - before.length).toBeLessThan(30);
    expect(closed(await lying.rows())).toEqual(after);
    for (const { id } of (await lying.rows()).slice(0, 20)) {
      expect((await lying.detail(Number(id))).sale_status).toBe(after.includes(id) ? 'unavailable' : 'available');
      expect((await lying.dates(Number(id))).sales_enabled).toBe(!after.includes(id));
    }
  });

  it('is that of another seed, where the seed is another', async () => {
    await using one = await service(1);
    await using other = await service(2);
    for (const each of [one, other]) await each.tell({ kind: 'off-sale', share: 0.3 });
    expect(closed(await one.rows())).not.toEqual(closed(await other.rows()));
  });

  it('of answers is drawn again for each', async () => {
    await using lying = await service();
    await lying.tell({ kind: 'no-dates', of: 'answers', share: 0.5 });
    const seen = new Set<boolean>();
    for (let asked = 0; asked < 20; asked += 1) seen.add((await lying.dates()).dates.length > 0);
    expect(seen).toEqual(new Set([true, false]));
  });
});

describe('the time of a fault', () => {
  it('begins and ends as it says, since it was set', async () => {
    await using lying = await service();
    const isTold = async () => (await lying.dates()).dates.length === 0;
    await lying.clock.advance(7 * minute);
    await lying.tell({ kind: 'no-dates', from_ms: minute, until_ms: 3 * minute });
    const told = [await isTold()];
    for (const ms of [minute - 1, 1, 2 * minute - 1, 1]) {
      await lying.clock.advance(ms);
      told.push(await isTold());
    }
    expect(told).toEqual([false, false, true, true, false]);
  });

  it('comes and goes', async () => {
    await using lying = await service();
    await lying.tell({ kind: 'no-dates', flap_ms: minute });
    const told: boolean[] = [];
    for (let passed = 0; passed < 4; passed += 1) {
      told.push((await lying.dates()).dates.length === 0);
      await lying.clock.advance(minute);
    }
    expect(told).toEqual([true, false, true, false]);
  });
});

describe('a refusal', () => {
  it.each([
    ['one record', (id: number) => `/${id}/checkout_information`, [true, false, false, false]],
    ['one product', (id: number) => `/products/${id}/`, [true, true, false, false]],
    ['one path', () => '/checkout_information', [true, false, true, false]],
    ['one resource', () => '^/v2/experiences', [false, false, false, true]],
  ])('is of %s', async (_, path, refused) => {
    await using lying = await service();
    const other = lying.sandbox.products().find(({ id }) => id !== lying.id)?.id;
    await lying.tell({ kind: 'status', status: 401, path: path(lying.id) });
    const paths = [
      `/products/${lying.id}/checkout_information`,
      `/products/${lying.id}/availability`,
      `/products/${other}/checkout_information`,
      '/experiences',
    ];
    const statuses = await Promise.all(paths.map(async (each) => (await lying.ask(each)).status));
    expect(statuses).toEqual(refused.map((is) => (is ? 401 : 200)));
  });

  it.each([
    [401, {}, 'unauthorized'],
    [403, {}, 'rate_limit_exceeded'],
    [429, {}, 'rate_limit_exceeded'],
    [429, { 'retry-after': '3600' }, 'rate_limit_exceeded'],
    [503, { 'retry-after': '120' }, 'service_unavailable'],
  ])('answers %d with %j', async (status, headers, code) => {
    await using lying = await service();
    await lying.tell({ kind: 'status', status, headers });
    const answer = await lying.ask('/products');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([
      status,
      'retry-after' in headers ? headers['retry-after'] : null,
    ]);
    expect(await answer.text()).toContain(`"${code}"`);
  });
});

describe('POST /sandbox/quirks', () => {
  it('sets quirks one by one, and GET shows all of them', async () => {
    await using lying = await service();
    await lying.tell({ kind: 'no-dates' });
    await lying.set({ unrated: 'zero' });
    const shown = (await (await fetch(`${lying.sandbox.url}/sandbox/quirks`)).json()) as Json;
    expect(shown).toEqual(JSON.parse(JSON.stringify(lying.sandbox.quirks())));
    expect(shown).toMatchObject({ unrated: 'zero', faults: [{ kind: 'no-dates' }], limit: null });
    await lying.tell();
    expect((await lying.dates()).dates).not.toEqual([]);
  });

  it.each([
    [{ moody: true }, 'there is no quirk moody'],
    [{ faults: 'all' }, 'faults is "all"; expected a list of faults'],
    [{ faults: [{ share: 1 }] }, 'a fault: it has no kind'],
    [{ faults: [{ kind: 'without' }] }, 'a fault: without needs the member to leave out, such as "id"'],
    [{ faults: [{ kind: 'no-fun' }] }, 'a fault: kind is "no-fun"; expected no-dates or off-sale'],
    [{ faults: [{ kind: 'no-dates', for: 3 }] }, 'a fault: there is no member for; there are kind, path'],
    [{ faults: [{ kind: 'no-dates', share: 2 }] }, 'a fault: share is 2; expected a share from 0 to 1'],
    [{ faults: [{ kind: 'no-dates', path: '(' }] }, 'a fault: path is "("; expected a regular expression'],
    [{ faults: [{ kind: 'status', headers: { 'retry-after': 5 } }] }, 'expected names and texts'],
    [{ faults: [null] }, 'a fault: expected names and values'],
  ])('refuses %j, and changes nothing', async (body, says) => {
    await using lying = await service();
    const before = lying.sandbox.quirks();
    const answer = await lying.set(body);
    expect([answer.status, ((await answer.json()) as { message: string }).message]).toEqual([
      400,
      expect.stringContaining(says),
    ]);
    expect(lying.sandbox.quirks()).toBe(before);
  });
});
