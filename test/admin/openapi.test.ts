import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type { Operation } from '../../src/admin/api/operation.ts';
import { type OperationName, operations } from '../../src/admin/api.ts';
import { openApi } from '../../src/admin/openapi.ts';
import { type AdminOptions, startAdmin } from '../../src/admin/server.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { roomFor } from '../../src/daemon/crowding.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { fastClock } from '../fakes/fast-clock.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { manualClock } from '../service/manual-clock.ts';

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const stack = new AsyncDisposableStack();
let socket = '';
let product_id = 0;
afterAll(() => stack.disposeAsync());

beforeAll(async () => {
  const { path } = stack.use(temporaryDirectory());
  // A probe asks three times a second.
  const clock = fastClock(20);
  const sandbox = stack.use(await startSandbox({ clock, products: 12, key: 'the-key' }));
  const more = { service: { base_url: sandbox.url }, receiver: { listen: '127.0.0.1:0' } };
  const secrets = { api_key: createSecret('the-key'), receiver_secret: createSecret('r'.repeat(43)) };
  const daemon = stack.use(await startDaemon(testMachine({ clock }), testConfig(path, sandbox.url, more, secrets)));
  await untilFilled(daemon);
  product_id = sandbox.world.visible()[0]?.id ?? 0;
  socket = join(path, 'state', 'admin.sock');
});

function ask(method: string, path: string, body?: unknown): Promise<{ status: number; answer: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; answer: unknown }>();
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  request({ socketPath: socket, method, path, headers }, async (response) => {
    const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
    resolve({ status: response.statusCode ?? 0, answer: JSON.parse(text) });
  })
    .on('error', reject)
    .end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

/** As its operation describes it; what no schema names is lost, and so seen. */
function described(name: OperationName, answer: unknown): unknown {
  return (operations[name].answer as z.ZodType).parse(answer);
}

const tomorrow = () => new Date(systemClock.now() + 86_400_000).toISOString().slice(0, 10);

const asked: [OperationName, () => string, (() => unknown)?][] = [
  ['GET /v1/status', () => '/v1/status'],
  ['GET /v1/plan', () => '/v1/plan'],
  ['GET /v1/explain/{id}', () => `/v1/explain/${product_id}`],
  ['GET /v1/explain/{id}', () => `/v1/explain/${product_id}?date=${tomorrow()}`],
  ['GET /v1/changes', () => '/v1/changes?limit=5'],
  ['POST /v1/check', () => '/v1/check', () => ({ product_id, date: tomorrow() })],
  ['POST /v1/orders', () => '/v1/orders', () => ({ product_id, date: tomorrow(), quantity: 1, outcome: 'confirmed' })],
  [
    'POST /v1/seen',
    () => '/v1/seen',
    () => ({ seen: [{ product_id, date: tomorrow(), count: 3 }, { product_id: 9 }] }),
  ],
  ['POST /v1/search', () => '/v1/search', () => ({ text: 'musuem', facets: true })],
  ['POST /v1/resync', () => '/v1/resync', () => ({ resources: ['variants'], dry_run: true })],
  ['POST /v1/resync', () => '/v1/resync', () => ({ resources: ['variants'], product_ids: [product_id] })],
  ['GET /v1/jobs/{id}', () => '/v1/jobs/1'],
  ['GET /v1/schedule', () => '/v1/schedule'],
  ['POST /v1/schedule/{name}/run', () => '/v1/schedule/retention/run', () => ({})],
  ['GET /v1/held', () => '/v1/held'],
  ['GET /v1/subscriptions', () => '/v1/subscriptions'],
  ['POST /v1/notifications/replay', () => '/v1/notifications/replay', () => ({ since: 0 })],
  ['GET /v1/doctor', () => '/v1/doctor'],
  ['POST /v1/probe', () => '/v1/probe', () => ({})],
];

describe('GET /openapi.json', () => {
  it('is OpenAPI 3.1, and refers to nothing that is not in it', async () => {
    const { status, answer } = await ask('GET', '/openapi.json');
    expect(status).toBe(200);
    expect((answer as Document).openapi).toMatch(/^3\.1\./);
    for (const [, path = ''] of JSON.stringify(answer).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = path.split('/').reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], answer);
      expect(found, path).toBeTypeOf('object');
    }
  });

  it('names every route that exists, and no other one', async () => {
    const { answer } = await ask('GET', '/openapi.json');
    expect(named(answer as Document)).toEqual(await routes());
    // Control: an operation that no route answers, and a route that no operation names.
    const other: Record<string, Operation> = { ...operations, 'GET /v1/nothing': operations['GET /v1/plan'] };
    expect(named(openApi(other, 'admin') as unknown as Document)).not.toEqual(await routes());
    const { 'GET /v1/plan': _, ...fewer } = operations;
    expect(named(openApi(fewer, 'admin') as unknown as Document)).not.toEqual(await routes());
  });
});

it('each parameter in a path is named and required, and those after it as their operation says', async () => {
  const { answer } = await ask('GET', '/openapi.json');
  const { paths } = answer as Document;
  type Parameter = { readonly name: string; readonly in: string; readonly required: boolean };
  const parametersOf = (operation: unknown, place: string) =>
    ((operation as { parameters?: Parameter[] } | undefined)?.parameters ?? [])
      .filter((each) => each.in === place)
      .map(({ name, required }) => [name, required]);
  for (const [path, methods] of Object.entries(paths))
    for (const operation of Object.values(methods)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]);
      expect(parametersOf(operation, 'path'), path).toEqual(names);
    }
  expect(parametersOf(paths['/v1/explain/{id}']?.get, 'query')).toContainEqual(['date', false]);
});

describe('an answer of a running daemon', () => {
  it.each(asked)('to %s is as it is described, and nothing more', async (name, path, body) => {
    const [method = ''] = name.split(' ');
    const { status, answer } = await ask(method, path(), body?.());
    expect(status).toBe(200);
    expect(described(name, answer)).toEqual(answer);
  });

  it('that says more or less than is described is seen (control)', async () => {
    const { answer } = await ask('GET', '/v1/status');
    const more = { ...(answer as object), undescribed: 1 };
    expect(described('GET /v1/status', more)).not.toEqual(more);
    const { filled_at: _, ...less } = answer as { filled_at: number };
    expect(() => described('GET /v1/status', less)).toThrow(/filled_at/);
  });
});

function named({ paths }: Document): string[] {
  return Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .sort();
}

/** As the router has them; a HEAD comes with each GET. */
async function routes(): Promise<string[]> {
  using directory = temporaryDirectory();
  const clock = manualClock();
  const changes = { clock, onChanges: () => ({ [Symbol.dispose]: () => undefined }) };
  const options = {
    listen: `unix:${join(directory.path, 'a.sock')}`,
    token: null,
    log: testLog().log,
    answers: {},
    changes,
    room: roomFor(null),
  };
  await using admin = await startAdmin(options as unknown as AdminOptions);
  return admin.routes
    .filter((route) => !route.startsWith('HEAD '))
    .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'))
    .sort();
}
