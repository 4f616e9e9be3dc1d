import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { reads } from '../../src/admin/api/reads.ts';
import { type OperationName, operations, storefrontOperations } from '../../src/admin/api.ts';
import { listenAt } from '../../src/admin/listening.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { keepListening, type OpenListener } from '../../src/kernel/http/kept-listener.ts';
import { listenAddress } from '../../src/kernel/http/listen-address.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

const secrets = { admin_token: createSecret(canary.admin), storefront_token: createSecret(canary.storefront) };

/** A daemon with a service that nobody runs: what a door lets through is refused for what was asked, not for who asks. */
async function daemonWith(directory: string, more: Record<string, unknown>) {
  return await startDaemon(testMachine(), testConfig(directory, 'http://127.0.0.1:9', more, secrets));
}

interface Answer {
  readonly status: number;
  readonly error: string | undefined;
}

/** One request with a body that is no question. */
function ask(listen: string, route: string, authorization: string | null): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const [method = '', path = ''] = route.split(' ');
  const address = listenAddress(listen);
  const target = 'socket' in address ? { socketPath: address.socket } : { host: address.host, port: address.port };
  const body = method === 'POST' ? '[]' : undefined;
  const headers = {
    ...(authorization === null ? {} : { authorization }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  request({ ...target, method, path, headers, agent: false }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    const json = response.headers['content-type']?.includes('json') === true;
    const { error } = (json ? JSON.parse(text) : {}) as { error?: string };
    resolve({ status: response.statusCode ?? 0, error });
  })
    .on('error', reject)
    .end(body);
  return promise;
}

const basic = (password: string) => `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}`;
const credentials = {
  'no token': null,
  'a wrong token': 'Bearer wrong',
  'the admin token': `Bearer ${canary.admin}`,
  'the admin token as a password': basic(canary.admin),
  "the storefront's token": `Bearer ${canary.storefront}`,
  "the storefront's token as a password": basic(canary.storefront),
  "the storefront's token without a scheme": canary.storefront,
  "the storefront's token and a letter": `Bearer ${canary.storefront}x`,
} as const;

/** What is not asked, because it would ask the service: who may is seen by who may not. */
const asksTheService: readonly string[] = ['POST /v1/probe', 'GET /v1/doctor'];
const atStorefront: readonly string[] = [...storefrontOperations, 'GET /openapi.json'];
const operatorsAlone = (Object.keys(operations) as OperationName[]).filter((name) => !atStorefront.includes(name));
const pages = ['GET /', 'GET /product', 'GET /resync', 'POST /resync', 'GET /metrics'];
const openPages = ['GET /healthz', 'GET /readyz'];
const nothing = ['GET /v1', 'GET /v1/nothing', 'POST /v1/check/', 'DELETE /v1/orders', 'GET /v1/check', 'PUT /'];
const withId = (route: string) => route.replace('{id}', '1');
const storefrontRoutes = atStorefront.map(withId);
const routes = [...atStorefront, ...operatorsAlone, ...pages, ...openPages, ...nothing].map(withId);

type Kind = 'unauthorized' | 'no-such-route' | 'answered';

function kindOf({ status, error }: Answer): Kind {
  if (status === 401) return 'unauthorized';
  return error === 'no-such-route' ? 'no-such-route' : 'answered';
}

/** Who gets what where: the whole of the rule. */
function expected(door: 'admin' | 'storefront', over: 'unix' | 'tcp', who: keyof typeof credentials, route: string) {
  const here = door === 'admin' ? !nothing.includes(route) : storefrontRoutes.includes(route);
  const there: Kind = here ? 'answered' : 'no-such-route';
  if (over === 'unix') return there;
  if (door === 'admin' && openPages.includes(route)) return 'answered';
  const keys: readonly string[] =
    door === 'admin' ? ['the admin token', 'the admin token as a password'] : ["the storefront's token"];
  return keys.includes(who) ? there : 'unauthorized';
}

describe('tokens, routes and doors', () => {
  const stack = new AsyncDisposableStack();
  const doors: Record<'admin' | 'storefront', Record<'unix' | 'tcp', string>> = {
    admin: { unix: '', tcp: '' },
    storefront: { unix: '', tcp: '' },
  };
  beforeAll(async () => {
    for (const over of ['unix', 'tcp'] as const) {
      const { path } = stack.use(temporaryDirectory());
      doors.admin[over] = over === 'tcp' ? `127.0.0.1:${await freePort()}` : `unix:${path}/state/admin.sock`;
      doors.storefront[over] = over === 'tcp' ? `127.0.0.1:${await freePort()}` : `unix:${path}/storefront.sock`;
      const listen = { admin: { listen: doors.admin[over] }, storefront: { listen: doors.storefront[over] } };
      stack.use(await daemonWith(path, listen));
    }
  });
  afterAll(() => stack.disposeAsync());

  it('has an operation for the storefront, and keeps most for the operator', () => {
    const others: string[] = storefrontOperations.filter((name) => !(name in reads));
    expect(Object.keys(reads)).toHaveLength(23);
    expect(others.sort()).toEqual([
      'GET /v1/changes',
      'GET /v1/rows',
      'GET /v1/rows/copy',
      'POST /v1/check',
      'POST /v1/orders',
      'POST /v1/search',
      'POST /v1/seen',
    ]);
    expect(operatorsAlone.length).toBeGreaterThan(10);
  });

  describe.each(['admin', 'storefront'] as const)("at the door '%s'", (door) => {
    describe.each(['unix', 'tcp'] as const)('over %s', (over) => {
      test.each(Object.keys(credentials) as (keyof typeof credentials)[])('%s opens what it is for', async (who) => {
        const found: Record<string, Kind> = {};
        const wanted: Record<string, Kind> = {};
        for (const route of routes) {
          wanted[route] = expected(door, over, who, route);
          if (wanted[route] === 'answered' && asksTheService.includes(route)) continue;
          found[route] = kindOf(await ask(doors[door][over], route, credentials[who]));
        }
        for (const route of asksTheService) if (wanted[route] === 'answered') delete wanted[route];
        expect(found).toEqual(wanted);
      });
    });
  });

  it('refuse at the storefront what a page of another origin asks, although it has the token', async () => {
    const { host, port } = new URL(`http://${doors.storefront.tcp}`);
    const headers = { authorization: credentials["the storefront's token"], origin: 'https://evil.example' };
    const answer = await fetch(`http://${host}/v1/changes`, { headers });
    expect([answer.status, port !== '']).toEqual([403, true]);
  });

  it('answer the storefront under any name: it is the token that counts', async () => {
    const [, port] = doors.storefront.tcp.split(':');
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const headers = { authorization: credentials["the storefront's token"], host: 'catalogued.shop.internal:8482' };
    request({ host: '127.0.0.1', port, path: '/v1/changes', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end();
    expect(await promise).toBe(200);
  });
});

it('a door waits ten seconds for a head and thirty for a request', async () => {
  using directory = temporaryDirectory();
  const limits: unknown[] = [];
  await using stack = new AsyncDisposableStack();
  const kept: OpenListener = async (_, parts) => {
    const server: typeof parts.server = (handler) => {
      const made = parts.server(handler);
      limits.push([made.headersTimeout, made.requestTimeout]);
      return made;
    };
    return stack.adopt(await keepListening({ ...parts, server }), (listener) => listener.close());
  };
  const settings = { name: 'admin', listen: `unix:${join(directory.path, 'admin.sock')}`, mode: 0o600 } as const;
  await using _door = await listenAt(settings, { clock: systemClock, kept, room: roomFor(null) }, () => undefined);
  expect(limits).toEqual([[10_000, 30_000]]);
});

describe("the storefront's socket", () => {
  it("is the group's, and goes when the daemon ends", async () => {
    using directory = temporaryDirectory();
    const socket = join(directory.path, 'storefront.sock');
    {
      await using daemon = await daemonWith(directory.path, { storefront: { listen: `unix:${socket}` } });
      expect(daemon.storefront).toBe(`unix:${socket}`);
      expect(statSync(socket).mode & 0o777).toBe(0o660);
      expect(statSync(join(directory.path, 'state', 'admin.sock')).mode & 0o777).toBe(0o600);
    }
    expect(existsSync(socket)).toBe(false);
  });

  it('is not made again while it is being closed, which removes it too', async () => {
    using directory = temporaryDirectory();
    const socket = join(directory.path, 's.sock');
    const listener = await keepListening({
      server: (handler) => createHttpServer(handler),
      bind: (app) => app.listen({ path: socket }),
    });
    const closed = listener.close();
    await listener.listenAgain(socket);
    await closed;
    expect(existsSync(socket)).toBe(false);
  });
});

describe('a door that cannot be opened ends the start with one line', () => {
  const cases: [title: string, listen: (directory: string) => string, exitCode: number, said: string][] = [
    ['in a directory that is missing', (path) => `unix:${path}/no/such/s.sock`, 78, 'there is no such directory'],
    ['below a file', (path) => `unix:${path}/file/s.sock`, 78, 'its directory is a file'],
    ['at a directory', (path) => `unix:${path}/directory`, 78, 'there is a file that is not a socket'],
    ['with too long a path', (path) => `unix:${path}/${'s'.repeat(108)}`, 78, 'this path is too long for a socket'],
    ['at an address of another machine', () => '192.0.2.1:8482', 78, 'this machine has no such address'],
  ];
  test.each(cases)('%s', async (_, listen, exitCode, said) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, 'file'), '');
    mkdirSync(join(directory.path, 'directory'));
    const at = listen(directory.path);
    await expect(daemonWith(directory.path, { storefront: { listen: at } })).rejects.toMatchObject({
      code: 'storefront-listen',
      exitCode,
      message: `cannot listen on ${at}: ${said}`,
      hint: expect.stringMatching(/^[^\n]+ \(storefront\.listen\)$/),
    });
  });

  test('at a port that somebody has', async () => {
    using directory = temporaryDirectory();
    const other = createServer().listen(0, '127.0.0.1');
    using _ = { [Symbol.dispose]: () => other.close() };
    await new Promise((resolve) => other.once('listening', resolve));
    const at = `127.0.0.1:${(other.address() as { port: number }).port}`;
    await expect(daemonWith(directory.path, { storefront: { listen: at } })).rejects.toMatchObject({
      exitCode: 74,
      message: `cannot listen on ${at}: it is in use`,
    });
  });
});
