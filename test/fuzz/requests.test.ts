import { request } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filledDaemon } from '../fakes/filled-daemon.ts';
import { needs } from '../fakes/needs.ts';
import { holds } from './corpus.ts';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  readonly type: string;
}

const stack = new AsyncDisposableStack();
let doors = { admin: '', storefront: '' };
let product_id = 0;

/** The status of an answer; 0: the connection was ended without one. */
function ask(socketPath: string, { method, path, body, type }: Asked): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const headers = body === null ? {} : { 'content-type': type };
  const call = request({ socketPath, method, path, headers, agent: false }, (response) => {
    // A stream of changes has no end.
    response.destroy();
    resolve(response.statusCode ?? 0);
  });
  call.on('error', () => resolve(0)).end(body ?? undefined);
  return promise;
}

const word = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '-1',
    '1e3',
    'null',
    'NaN',
    '%00',
    '%ff',
    '..',
    '%2e%2e',
    'a'.repeat(3000),
    '2026-02-30',
    '__proto__',
  ),
  fc.nat().map(String),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(1e21, -1, '\u0000', '\ud800', 'x'.repeat(5000)),
);
const names = [
  'product_id',
  'date',
  'time',
  'tickets',
  'window',
  'text',
  'limit',
  'cursor',
  'words',
  'variant_id',
  'outcome',
  'order_id',
  'id',
  'kind',
];
const paths = [
  '/', '/product', '/metrics', '/openapi.json', '/healthz', '/readyz', '/resync', '/v1/status', '/v1/plan', '/v1/check', '/v1/orders',
  '/v1/search', '/v1/changes', '/v1/rows', '/v1/jobs', '/v1/resync', '/v1/held', '/v1/explain', '/v1/interest', '/v1/notifications',
]; // biome-ignore format: a list

const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'),
  path: fc
    .tuple(
      fc.constantFrom(...paths),
      fc.array(word, { maxLength: 2 }),
      fc.array(fc.tuple(fc.constantFrom(...names), word), { maxLength: 3 }),
    )
    .map(([path, more, query]) => `${[path, ...more].join('/')}?${query.map((pair) => pair.join('=')).join('&')}`),
  body: fc.oneof(
    fc.constant(null),
    fc.string({ maxLength: 40 }),
    fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }).map((each) => JSON.stringify(each)),
    fc.constant(`${'['.repeat(50_000)}`),
  ),
  type: fc.constantFrom(
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
  ),
});

describe('a request that nobody would write', needs('time'), () => {
  beforeAll(async () => {
    const { daemon, sockets } = await filledDaemon(stack);
    doors = sockets;
    product_id = daemon.mirror.catalogue.products.ids()[0] ?? 0;
  });
  afterAll(() => stack.disposeAsync());

  it.each(['admin', 'storefront'] as const)('is answered at the door of %s, and not by a bug of ours', async (door) => {
    const seen = new Set<number>();
    await holds(
      `requests-${door}`,
      asked,
      async (each) => {
        const status = await ask(doors[door], each);
        seen.add(status);
        expect(status).not.toBe(500);
        expect(status).not.toBe(0);
      },
      500,
    );
    // Some are understood, and some are not: else nothing was asked.
    expect([...seen]).toEqual(expect.arrayContaining([400, 404]));
    const check = JSON.stringify({ product_id, date: '2026-12-24' });
    const honest = { method: 'POST', path: '/v1/check', body: check, type: 'application/json' };
    expect([200, 400]).toContain(await ask(doors[door], honest));
    if (door === 'admin')
      expect(await ask(doors.admin, { ...honest, method: 'GET', path: '/healthz', body: null })).toBe(200);
  });
});
