import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { ReadOperation } from '../../src/admin/api/reads.ts';
import { operations } from '../../src/admin/api.ts';
import { UnsentAnswers } from '../../src/admin/read-route.ts';
import { createSecret } from '../../src/config/secrets.ts';
import type { RunningDaemon } from '../../src/daemon/daemon.ts';
import { contract } from '../../src/mirror/contract/contract.ts';
import type { Column } from '../../src/mirror/contract/table.ts';
import { type HttpRead, httpReads } from '../../src/storefront/http/reads.ts';
import { openHttpReader } from '../../src/storefront/http.ts';
import { canary } from '../fakes/canary.ts';
import { filledDaemon } from '../fakes/filled-daemon.ts';
import { withdraw } from '../fakes/planted.ts';
import { openReader } from '../fakes/reader.ts';

const public_key = 'pk-of-a-shop-in-a-browser';
const shop = 'https://shop.example';

const stack = new AsyncDisposableStack();
let at = '';
let path = '';
let daemon: RunningDaemon;
let product_id = 0;
let date = '';
let withdrawn_id = 0;
afterAll(() => stack.disposeAsync());
beforeAll(async () => {
  const filled = await filledDaemon(
    stack,
    { storefront: { listen: '127.0.0.1:0', public_key, origins: [shop] } },
    { storefront_token: createSecret(canary.storefront) },
  );
  ({ daemon } = filled);
  at = daemon.storefront ?? '';
  path = daemon.config.mirror.path;
  using reader = openReader(path);
  const sold = reader.products().flatMap((product) =>
    reader
      .calendar(product.product_id)
      .filter(({ state }) => state === 'available')
      .slice(1, 2)
      .map((day) => ({ product_id: product.product_id, date: day.date })),
  );
  ({ product_id, date } = sold.find((each) => reader.slots(each.product_id, each.date).length > 0) ?? {
    product_id,
    date,
  });
  withdrawn_id = sold.findLast((each) => each.product_id !== product_id)?.product_id ?? 0;
  withdraw({ daemon }, withdrawn_id, daemon.sync.clock.now());
});

const key = (name: string) => ({ authorization: `Bearer ${name}` });
const get = (asked: string, headers: Record<string, string> = key(public_key)) => fetch(`${at}${asked}`, { headers });

/** Arguments of each function. */
const asked = (): Readonly<Record<HttpRead, readonly unknown[]>> => ({
  product: [product_id, { language: 'en' }],
  products: [{ limit: 3, sellable: true, min_rating: 0.5 }],
  calendar: [product_id, { from: date, to: date, columns: ['state', 'lowest_adult_price'] }],
  cheapest: [product_id],
  slots: [product_id, date, { currency: 'EUR' }],
  images: [product_id],
  prices: [product_id],
  variants: [product_id],
  checkoutInformation: [product_id],
  alternatives: [product_id],
  related: [product_id, { limit: 2 }],
  withdrawn: [withdrawn_id],
  sellable: [product_id],
  experience: [151_000],
  experienceImages: [151_000],
  experiences: [{ limit: 2 }],
  cities: [],
  countries: [],
  tags: [{ product_id, language: 'en' }],
  currencies: [],
  policies: [],
  search: [{ text: 'gardn', facets: true, near: { latitude: 52.37, longitude: 4.9, km: 20_000 } }],
  exact: [{ text: 'golden', limit: 2 }],
});

/** Reads of things that few products have. */
const mayBeEmpty: readonly HttpRead[] = ['alternatives'];

/** Columns of the tables that are read, which must not be published. */
const privateColumns = Object.values(httpReads as Readonly<Record<string, { readonly rows?: string }>>).flatMap(
  ({ rows }) =>
    Object.entries(rows === undefined ? {} : contract[rows as keyof typeof contract].columns).flatMap(
      ([name, column]: [string, Column]) => (column.public === false || name === 'document' ? [name] : []),
    ),
);

/** Returns an answer without the columns that must not be published. */
function published(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value) => (privateColumns.includes(name) ? undefined : value)));
}

type Functions = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

describe('a read over HTTP', () => {
  it.each(Object.keys(httpReads) as HttpRead[])(
    '%s answers what the reader answers, in public columns',
    async (name) => {
      using reader = openReader(path);
      const http = openHttpReader({ url: at, key: public_key });
      const given = asked()[name];
      const own = (reader as unknown as Functions)[name]?.(...given);
      const answer = await (http as unknown as Functions)[name]?.(...given);
      expect(answer).toEqual(published(own));
      if (!mayBeEmpty.includes(name)) expect([answer].flat()).not.toEqual([]);
      expect(answer).not.toBeNull();
      // As it is described, and nothing more.
      const described = operations[`GET ${httpReads[name].path}` as ReadOperation].answer as z.ZodType;
      if (answer !== null) expect(described.parse(answer)).toEqual(answer);
    },
  );

  it('is there for each function of the reader, but for these', () => {
    using reader = openReader(path);
    const others = Object.keys(reader).filter((name) => !(name in httpReads));
    const ofDaemon = ['check', 'order', 'seen'];
    const ofFile = ['changes', 'close', 'freshness', 'info', 'newest', 'transaction'];
    expect(others.sort()).toEqual([...ofDaemon, ...ofFile].sort());
  });

  it('has amounts that must not be published neither with the public key nor with the token, and the file has them (control)', async () => {
    using reader = openReader(path);
    expect(reader.slots(product_id, date)[0]).toMatchObject({
      booking_fee: expect.any(Number),
      ticket_value: expect.any(Number),
    });
    expect(privateColumns).toContain('commission');
    for (const who of [public_key, canary.storefront]) {
      const texts = await Promise.all(
        (Object.keys(httpReads) as HttpRead[]).map(async (name) => {
          const http = openHttpReader({ url: at, key: who });
          return JSON.stringify(await (http as unknown as Functions)[name]?.(...asked()[name]));
        }),
      );
      for (const column of [...privateColumns, 'price_mediation']) expect(texts.join()).not.toContain(`"${column}":`);
    }
  });

  it('is answered 304 as long as the answer is the same, and says by what it differs and for how long it holds', async () => {
    const first = await get(`/v1/products/${product_id}/images`);
    const etag = first.headers.get('etag') ?? '';
    using reader = openReader(path);
    expect(etag).toContain(String(reader.info().feed_id));
    expect(first.headers.get('vary')).toBe('Origin, Authorization');
    expect(first.headers.get('cache-control')).toBe('public, must-revalidate');
    const [sent = 0, expires = 0] = ['date', 'expires'].map((name) => Date.parse(first.headers.get(name) ?? ''));
    expect(expires - sent).toBeGreaterThanOrEqual(0);
    expect(expires - sent).toBeLessThanOrEqual(60_000);
    const compressed = (ending: string) => etag.replace(/"$/, `${ending}"`);
    const asked = [
      // The tag that is sent back: the client looks for what it has under it.
      [etag, 304, etag],
      [`"x", W/${etag}`, 304, etag],
      [`"a, b" ,${etag}`, 304, etag],
      [compressed('-gzip'), 304, compressed('-gzip')],
      [`W/${compressed('-br')}`, 304, compressed('-br')],
      ['*', 304, etag],
      [' * ', 304, etag],
      [compressed('x'), 200, etag],
      [compressed('-gzip-gzip'), 200, etag],
      [etag.replaceAll('"', ''), 200, etag],
      [`"*"`, 200, etag],
      ['', 200, etag],
    ] as const;
    for (const [tags, status, tag] of asked) {
      const again = await get(`/v1/products/${product_id}/images`, { ...key(public_key), 'if-none-match': tags });
      expect([again.status, again.headers.get('etag')], tags).toEqual([status, tag]);
      expect(await again.text().then((body) => body === ''), tags).toBe(status === 304);
    }
  });

  it.each([
    ['/v1/products/abc', 400, 'id: found "abc"; expected a product id'],
    ['/v1/products/0', 400, 'id: found "0"; expected a product id'],
    ['/v1/products/1e3', 400, 'id: found "1e3"; expected a product id'],
    ['/v1/products/9007199254740993', 400, 'id: found "9007199254740993"; expected a product id'],
    ['/v1/products/some-slug', 400, 'id: found "some-slug"; expected a product id'],
    ['/v1/products/7', 404, '7 is not in the mirror'],
    ['/v1/experiences/7', 404, '7 is not in the mirror'],
    ['/v1/products/7/images?language=en', 400, 'language: is not known'],
    ['/v1/products/7/prices?currency=USD', 400, 'currency: is not known; expected no parameters'],
    ['/v1/search?limit=201', 400, 'limit: found "201"; expected a number of rows from 1 to 200'],
    ['/v1/products?language=xx', 400, 'language: "xx" is not mirrored'],
    ['/v1/products?currency=JPY', 400, 'currency: "JPY" is not mirrored'],
    ['/v1/products?language=en&language=de', 400, 'language: found ["en","de"]; expected a mirrored language'],
    ['/v1/products?limit=201', 400, 'limit: found "201"; expected a number of rows from 1 to 200'],
    ['/v1/products?city_id=7', 400, 'city_id: no product has 7'],
    ['/v1/products/7/slots', 400, 'date: found nothing; expected a date of the calendar'],
    ['/v1/products/7/slots?date=2026-02-30', 400, 'date: found "2026-02-30"; expected a date of the calendar'],
    ['/v1/products/7/calendar?columns=commission', 400, 'columns: found "commission"'],
    ['/v1/search?near=52', 400, 'near: found "52"; expected latitude,longitude,km'],
    ['/v1/search?near=91,0,1', 400, 'latitude'],
  ])('of %s is refused in words, and no cache keeps it', async (question, status, words) => {
    const answer = await get(question);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'no-store']);
    expect(((await answer.json()) as { message: string }).message).toContain(words);
  });

  it('counts a search without results', async () => {
    const { inbox } = daemon;
    const counted = () => inbox.searches.fruitless({ first: 0, last: 99_999, least: 1 });
    expect(counted()).toEqual([]);
    for (const text of ['xyzzy', 'golden']) await openHttpReader({ url: at, key: public_key }).search({ text });
    await daemon.schedule.run('search-counts');
    expect(counted()).toEqual([{ words: 'xyzzy', searches: 1 }]);
  });
});

describe('a page of another origin', () => {
  const read = '/v1/cities';

  it('reads with the public key where its origin is allowed', async () => {
    const leave = await fetch(`${at}${read}`, {
      method: 'OPTIONS',
      headers: { origin: shop, 'access-control-request-method': 'GET', 'sec-fetch-site': 'cross-site' },
    });
    expect([leave.status, leave.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization, if-none-match',
    ]);
    const answer = await get(read, { ...key(public_key), origin: shop, 'sec-fetch-site': 'cross-site' });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, shop]);
    expect(answer.headers.get('access-control-expose-headers')).toBe('etag');
    // A page sees why it is refused.
    const keyless = await get(read, { origin: shop });
    expect([keyless.status, keyless.headers.get('access-control-allow-origin')]).toEqual([401, shop]);
  });

  it.each([
    ['another origin', 'GET', read, { origin: 'https://evil.example' }],
    ['an origin that begins like an allowed one', 'GET', read, { origin: `${shop}.evil.example` }],
    ['an allowed host over http', 'GET', read, { origin: 'http://shop.example' }],
    ['a page without origin', 'GET', read, { 'sec-fetch-site': 'cross-site' }],
    ['another origin that asks for leave', 'OPTIONS', read, { origin: 'https://evil.example' }],
    ['an allowed origin that follows the feed', 'GET', '/v1/changes', { origin: shop }],
    ['an allowed origin that checks', 'POST', '/v1/check', { origin: shop }],
  ] as const)('is refused: %s', async (_, method, asked, headers) => {
    for (const who of [public_key, canary.storefront]) {
      const answer = await fetch(`${at}${asked}`, { method, headers: { ...key(who), ...headers } });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    }
  });
});

describe('the public key', () => {
  it.each(['GET /v1/changes', 'GET /v1/rows', 'POST /v1/check', 'POST /v1/orders', 'POST /v1/seen', 'POST /v1/search'])(
    'does not open %s, and the token does (control)',
    async (route) => {
      const [method = '', asked = ''] = route.split(' ');
      const by = async (who: string) => (await fetch(`${at}${asked}`, { method, headers: key(who) })).status;
      expect(await by(public_key)).toBe(401);
      expect(await by(canary.storefront)).not.toBe(401);
    },
  );
});

describe('answers that their clients do not read', () => {
  /** Stands for an answer on its way. */
  class Unread extends EventEmitter {
    isCut = false;
    readonly destroyed: boolean;
    constructor(destroyed = false) {
      super();
      this.destroyed = destroyed;
    }
    destroy(): void {
      this.isCut = true;
      this.emit('close');
    }
  }

  it('are cut beyond a limit of bytes or of answers, the oldest first, and what was read counts no more', () => {
    const unsent = new UnsentAnswers({ bytes: 100, answers: 3 });
    const added = (bytes: number) => {
      const answer = new Unread();
      unsent.add(answer as unknown as ServerResponse, bytes);
      return answer;
    };
    // Its client has left while it was made: it is never counted.
    unsent.add(new Unread(true) as unknown as ServerResponse, 1000);
    const [first, second] = [added(40), added(50)];
    second.emit('close');
    const third = added(60);
    expect([first, second, third].map(({ isCut }) => isCut)).toEqual([false, false, false]);
    added(1);
    expect([first, third].map(({ isCut }) => isCut)).toEqual([true, false]);
    added(1);
    expect(third.isCut).toBe(false);
    added(1);
    expect(third.isCut).toBe(true);
  });
});

describe('the reader over HTTP', () => {
  it('rejects as the reader throws, and says where nobody answers', async () => {
    const http = openHttpReader({ url: at, key: public_key, language: 'xx' });
    await expect(http.product(product_id)).rejects.toMatchObject({
      code: 'bad-argument',
      hint: expect.stringContaining('en'),
    });
    await expect(http.product(Number.NaN)).rejects.toMatchObject({ code: 'bad-argument' });
    const nowhere = openHttpReader({ url: 'http://127.0.0.1:9', key: public_key });
    await expect(nowhere.cities()).rejects.toMatchObject({ code: 'unreachable' });
    await expect(openHttpReader({ url: at, key: 'wrong' }).cities()).rejects.toMatchObject({ code: 'unauthorized' });
    expect(() => openHttpReader({ url: 'catalogue.example' })).toThrow(/url or key/);
  });

  it.each([
    ['a page of a proxy', 200],
    ['a missing page of a proxy', 404],
  ])('takes %s for no daemon, and not for an answer', async (_, status) => {
    const other = async () => new Response('<html>', { status });
    const http = openHttpReader({ url: at, key: public_key, fetch: other });
    await expect(http.product(product_id)).rejects.toMatchObject({ code: 'unreachable' });
    await expect(http.cities()).rejects.toMatchObject({ code: 'unreachable' });
  });
});
