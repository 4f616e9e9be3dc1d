import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const stack = new AsyncDisposableStack();
let port = 0;

beforeAll(async () => {
  port = await freePort();
  const { path } = stack.use(temporaryDirectory());
  const admin = { listen: `127.0.0.1:${port}`, hosts: ['ops.example.com'] };
  const config = testConfig(path, 'http://127.0.0.1:9', { admin }, { admin_token: createSecret(canary.admin) });
  stack.use(await startDaemon(testMachine(), config));
});
afterAll(() => stack.disposeAsync());

const basic = (password: string) => `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}`;
const token = `Bearer ${canary.admin}`;

/** One request, byte by byte as it is written here: no client puts a path or a header right. */
async function ask(target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<string> {
  const given = { host: `127.0.0.1:${port}`, connection: 'close', ...headers };
  const socket = connect(port, '127.0.0.1');
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return (await Array.fromAsync(socket as AsyncIterable<Buffer>)).join('');
}

async function statusOf(...request: Parameters<typeof ask>): Promise<number> {
  return Number((await ask(...request)).split(' ')[1]);
}

describe('outside a unix socket the admin interface', () => {
  test.each([
    '/v1/status',
    '/v1/plan',
    '/',
    '/product?id=1',
    '/metrics',
    '/openapi.json',
    '/v1/doctor',
    '/no/such/path',
  ])('answers %s to nobody without the token', async (path) => {
    expect(await statusOf(path)).toBe(401);
    expect(await statusOf(path, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await statusOf(path, { authorization: `Bearer ${canary.admin}x` })).toBe(401);
    expect(await statusOf(path, { authorization: canary.admin })).toBe(401);
    expect(await statusOf(path, { authorization: basic('wrong') })).toBe(401);
    expect(await statusOf(path, {}, 'HEAD')).toBe(401);
  });

  it.each(['date=1&date=2', 'date=tomorrow', 'date=2026-12-24&date=2026-12-25'])(
    'refuses what is no question: /v1/explain/1?%s',
    async (query) => {
      expect(await statusOf(`/v1/explain/1?${query}`, { authorization: token })).toBe(400);
    },
  );

  it.each([
    ['?id=1', 404, 'Product 1 is not in the mirror'],
    ['', 200, 'Find a product'],
    ['?id=0', 400, 'A product id'],
    ['?id=1&id=2', 400, 'A product id'],
    ['?id=%3Cscript%3E', 400, 'A product id'],
  ])(
    'answers /product%s with a page that asks for a product, or says why there is nothing',
    async (query, status, says) => {
      const answer = await ask(`/product${query}`, { authorization: token });
      expect(Number(answer.split(' ')[1])).toBe(status);
      expect(answer).toContain(`<h1>${says}`);
      expect(answer).not.toContain('<script');
    },
  );

  it('says of what no route takes that nothing answers there, and repeats no query', async () => {
    expect(await ask('/v1/statsu?token=hush', { authorization: token })).toMatch(
      /^HTTP\/1.1 404 [\s\S]*\r\n\r\n\{"error":"no-such-route","message":"there is no GET \/v1\/statsu here"\}$/,
    );
  });

  const foreign: [string, Record<string, string>][] = [
    ['a page of another origin', { origin: 'https://evil.example' }],
    ['a page of another port', { origin: 'http://127.0.0.1:1' }],
    ['a page without an origin of its own', { origin: 'null' }],
    ['what a browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['what a browser calls same-site', { 'sec-fetch-site': 'same-site' }],
    ['a name that leads here and is not ours', { host: 'evil.example:8481' }],
    ['a name that only begins like ours', { host: 'localhost.evil.example' }],
  ];
  describe.each(['GET', 'POST'])('refuses a %s with the token, in one line, of', (method) => {
    test.each(foreign)('%s', async (_, headers) => {
      const answer = await ask('/v1/status', { authorization: token, ...headers }, method);
      expect(answer).toMatch(/^HTTP\/1.1 403 [\s\S]*\r\n\r\n\{"error":"[^\n]+"\}$/);
    });
  });

  it('opens the page, and nothing else, from a link on another one', async () => {
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    expect(await statusOf('/', { authorization: token, ...link })).toBe(200);
    expect(await statusOf('/', { authorization: token, ...link, 'sec-fetch-dest': 'iframe' })).toBe(403);
    expect(await statusOf('/', { authorization: token, ...link, origin: 'https://evil.example' })).toBe(403);
    expect(await statusOf('/v1/status', { authorization: token, ...link })).toBe(403);
    expect(await statusOf('/v1/resync', { authorization: token, ...link }, 'POST')).toBe(403);
  });
});
