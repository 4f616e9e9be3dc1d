import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CataloguedError, type Reader, type SearchQuestion } from '../../src/storefront/reader.ts';
import { filledDaemon } from '../fakes/filled-daemon.ts';
import { openReader } from '../fakes/reader.ts';

/* What nobody can answer, asked through every door: one line that names it, what there is, and never an empty list. */

const stack = new AsyncDisposableStack();
let sockets = { admin: '', storefront: '' };
let reader: Reader;
/** A city and a country of the mirror, by id and name. */
let there: { readonly city: string; readonly country: string };

beforeAll(async () => {
  const filled = await filledDaemon(stack);
  const { daemon } = filled;
  sockets = filled.sockets;
  reader = stack.use(openReader(daemon.config.mirror.path));
  const [{ city_id, city_name, country_id, country_name } = { city_id: 0 }] = reader.products();
  there = { city: `${city_id} (${city_name})`, country: `${country_id} (${country_name})` };
});
afterAll(() => stack.disposeAsync());

interface Refusal {
  readonly status: number;
  readonly error?: string;
  readonly message?: string;
  readonly hint?: string;
}

function ask(socketPath: string, method: 'GET' | 'POST', path: string, body?: string): Promise<Refusal> {
  const { promise, resolve, reject } = Promise.withResolvers<Refusal>();
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  request({ socketPath, method, path, headers, agent: false }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ status: response.statusCode ?? 0, ...(JSON.parse(text) as object) });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

/** What a function refuses, in the same form; status 200: it does not. */
function refusalOf(work: () => unknown): Refusal {
  try {
    work();
    return { status: 200 };
  } catch (error) {
    if (!(error instanceof CataloguedError)) throw error;
    const { code, message, hint } = error;
    return { status: 400, error: code, message, ...(hint === undefined ? {} : { hint }) };
  }
}

function expectOneLine({ status, error, message = '', hint = '' }: Refusal, says: RegExp, names: RegExp = /./): void {
  expect({ status, error }).toEqual({ status, error: expect.stringMatching(/^[a-z-]+$/) });
  expect(message).toMatch(says);
  expect(`${message} ${hint}`).toMatch(names);
  expect(hint).toMatch(/^[^\n]{5,300}$/);
  expect(message).toMatch(/^[^\n]{5,400}$/);
}

/** A question, what is said of it, and what there is instead; over HTTP the shape of a question is refused before it is asked. */
const questions: readonly (readonly [question: object, says: RegExp, names?: RegExp])[] = [
  [{ currency: 'USD' }, /^currency: "USD" is not mirrored/, /EUR/],
  [{ currency: 'eur' }, /^currency: "eur" is not mirrored/, /EUR/],
  [{ currency: 'x'.repeat(10_000) }, /^currency: "x{60}" is not mirrored/, /EUR/],
  [{ language: 'xx' }, /^language: "xx" is not mirrored/, /\ben\b/],
  [{ language: '' }, /^language: "" is not mirrored/, /\ben\b/],
  [{ language: '\u202Een' }, /^language: /, /\ben\b/],
  [{ tag_id: 999_999 }, /^tag_id: no product has 999999/, /commonest are \d+/],
  [{ tag_id: '3' }, /^tag_id: found "3"/],
  [{ city_id: 999_999 }, /^city_id: no product has 999999/, /commonest are \d+ \(\w/],
  [{ city_id: 'Paris' }, /^city_id: found "Paris"/],
  [{ city_id: null }, /^city_id: found null/],
  [{ country_id: 999_999 }, /^country_id: no product has 999999/, /commonest are \d+ \(\w/],
  [{ country_id: -1 }, /^country_id: found -1/],
  [{ from: '2026-12-10', to: '2026-12-01' }, /^from 2026-12-10 is after to 2026-12-01$/, /exchange/],
  [{ from: '2026-02-30' }, /^from: .*"2026-02-30"/, /YYYY-MM-DD|2026-12-24/],
  [{ to: 'tomorrow' }, /^to: .*"tomorrow"/],
  [{ min_price: 5, max_price: 1 }, /^min_price 5 is above max_price 1$/],
  [{ max_price: 1.5 }, /^max_price: found 1.5/],
  [{ max_price: '30' }, /^max_price: found "30"/],
  [{ min_rating: 9 }, /^min_rating: found 9/],
  [{ sellable: 'yes' }, /^sellable: found "yes"/, /true or false/],
  [{ facets: 1 }, /^facets: found 1/, /true or false/],
  [{ limit: 0 }, /^limit: found 0/, /1 to 1000/],
  [{ limit: 5000 }, /^limit: found 5000/, /1 to 1000/],
  [{ offset: -1 }, /^offset: found -1/],
  [{ order: 'DROP' }, /^order: found "DROP"/, /relevance, popularity, price, price_down, rating, distance/],
  [{ order: null }, /^order: found "?null/, /relevance/],
  [{ order: 'distance' }, /^order: "distance" from where/, /near/],
  [{ near: { latitude: 91, longitude: 0, km: 1 } }, /^near.latitude: found 91/, /-90 to 90/],
  [{ near: null }, /^near: found null/, /latitude/],
  [{ text: null }, /^text: /],
  [{ txt: 'museum' }, /txt"?:? is not known/, /text, near/],
];

const titled = questions.map(
  ([question, says, names = /./]) => [JSON.stringify(question).slice(0, 60), question, says, names] as const,
);

describe('at each door, and by reader.search', () => {
  it.each(titled)('the question %s is refused in one line', async (_, question, says, names) => {
    expectOneLine(
      refusalOf(() => reader.search(question as SearchQuestion)),
      'txt' in question || 'text' in question ? /txt|text/ : says,
      names,
    );
    for (const socket of Object.values(sockets)) {
      const answer = await ask(socket, 'POST', '/v1/search', JSON.stringify(question));
      expect(answer.status).toBe(400);
      expectOneLine(answer, says, names);
    }
  });
});

it('a body that is no question is refused with what one is', async () => {
  for (const body of ['', '[]', 'null', '"museum"', '{', '{"text":"a"}{', '{"__proto__":{"limit":1}}']) {
    const answer = await ask(sockets.storefront, 'POST', '/v1/search', body);
    expect([body, answer.status]).toEqual([body, 400]);
    expectOneLine(answer, /body|JSON/i, /openapi/);
  }
  const large = await ask(sockets.storefront, 'POST', '/v1/search', JSON.stringify({ text: 'x'.repeat(2_000_000) }));
  expect(large.status).toBe(413);
  expectOneLine(large, /too large/);
});

it('a function of the reader names the language, currency, city, country, tag or dates that no answer could be right for', () => {
  const [{ product_id } = { product_id: 0 }] = reader.products();
  const dates = { from: '2026-12-10', to: '2026-12-01' };
  const dollars = { currency: 'USD' };
  const unknown = { language: 'xx' };
  const both = [
    (options: object) => reader.product(product_id, options),
    (options: object) => reader.products(options),
    (options: object) => reader.experience(1, options),
    (options: object) => reader.experiences(options),
    (options: object) => reader.countries(options),
    (options: object) => reader.checkoutInformation(product_id, options),
    (options: object) => reader.variants(product_id, options),
    (options: object) => reader.alternatives(product_id, options),
    (options: object) => reader.related(product_id, options),
    (options: object) => reader.calendar(product_id, options),
    (options: object) => reader.slots(product_id, '2026-12-01', options),
    (options: object) => reader.cheapest(product_id, options),
    (options: object) => reader.exact({ text: 'a', ...options }),
  ];
  for (const asked of both) {
    expectOneLine(
      refusalOf(() => asked(dollars)),
      /^currency: "USD" is not mirrored$/,
      /give one of EUR$/,
    );
    expectOneLine(
      refusalOf(() => asked(unknown)),
      /^language: "xx" is not mirrored$/,
      /give one of en$/,
    );
    expect(refusalOf(() => asked({ language: 'en', currency: 'EUR' }))).toEqual({ status: 200 });
  }
  const others: [() => unknown, RegExp, RegExp][] = [
    [() => reader.cities(unknown), /"xx" is not mirrored/, /en/],
    [() => reader.products({ city_id: 1 }), /^city_id: no product has 1$/, /commonest/],
    [() => reader.exact({ city_id: 1 }), /^city_id: no product has 1$/, /commonest/],
    [() => reader.experiences({ city_id: 1 }), /^city_id: no product has 1$/, /commonest/],
    [() => reader.cities({ country_id: 1 }), /^country_id: no product has 1$/, /commonest/],
    [() => reader.products({ tag_id: 99_999 }), /^tag_id: no product has 99999$/, /commonest/],
    [() => reader.products(dates), /2026-12-10 is after/, /exchange/],
    [() => reader.calendar(product_id, dates), /2026-12-01\) is before from/, /earlier date/],
    [() => reader.cheapest(product_id, dates), /2026-12-01\) is before from/, /earlier date/],
    [
      () => reader.exact({ text: 'a', sellable: 'yes' as unknown as boolean }),
      /^sellable: found "yes"/,
      /true or false/,
    ],
    [() => reader.changes(1_000_000), /^there is no change 1000000 yet/, /start again/],
    [() => reader.changes(0, { feed: 'of another file' }), /^the feed of another file has ended/, /start again/],
  ];
  for (const [work, says, names] of others) expectOneLine(refusalOf(work), says, names);
  const { hint } = refusalOf(() => reader.products({ city_id: 1 }));
  expect(hint).toContain(there.city);
  expect(refusalOf(() => reader.products({ country_id: 1 })).hint).toContain(there.country);
});

it('a cursor of another file is told where to go on, at each door', async () => {
  const cursors: [query: string, status: number, says: RegExp, names: RegExp][] = [
    ['after=0&feed=of-another-file', 410, /^the feed of-another-file has ended/, /feed [0-9a-f-]{36}$/],
    [`after=0&feed=${'x'.repeat(10_000)}`, 410, /^the feed x{60} has ended/, /start again/],
    ['after=1000000', 400, /^there is no change 1000000/, /read the views again/],
    ['after=-1', 400, /"-1"/, /0 for none/],
    ['after=one', 400, /"one"/, /0 for none/],
    ['after=1&after=2', 400, /\["1","2"\]/, /0 for none/],
    ['limit=0', 400, /"0"/, /1 to 1000/],
  ];
  for (const socket of Object.values(sockets))
    for (const [query, status, says, names] of cursors) {
      const answer = await ask(socket, 'GET', `/v1/changes?${query}`);
      expect([query.slice(0, 40), answer.status]).toEqual([query.slice(0, 40), status]);
      expectOneLine(answer, says, names);
    }
});
