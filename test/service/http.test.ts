import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createRawServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { lanes } from '../../src/schedule/lanes.rules.ts';
import { type AskOptions, type HttpOptions, keyPlaceholder, type ServiceRequest } from '../../src/service/http.ts';
import { Limiter } from '../../src/service/limiter.ts';
import type { Outcome } from '../../src/service/outcome.ts';
import { needs } from '../fakes/needs.ts';
import { askerOver } from '../fakes/standard-answers.ts';
import { testHttp } from '../fakes/test-http.ts';
import { manualClock } from './manual-clock.ts';

const key = 'canary-key-7f3a';
const never = new AbortController().signal;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function listen(server: Server | ReturnType<typeof createRawServer>, scheme = 'http'): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((closed) => server.close(closed));
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const serve = (listener: RequestListener) => listen(createServer(listener));

/** A server that sends these bytes to whoever asks, and then ends or breaks the connection. */
const serveRaw = (bytes: string | Buffer, then: 'end' | 'reset' | 'hang' = 'end') =>
  listen(
    createRawServer((socket) => {
      socket.once('data', () =>
        socket.write(bytes, () => {
          if (then === 'end') socket.end();
          if (then === 'reset') socket.resetAndDestroy();
        }),
      );
    }),
  );

function client(base_url: string, options: Partial<HttpOptions> = {}) {
  const clock = manualClock();
  const http = testHttp(base_url, clock, { key: { reveal: () => key }, connections: 4, ...options });
  closers.push(() => http[Symbol.asyncDispose]());
  const asker = askerOver(http, { key: { reveal: () => key } });
  const question = { kind: 'subscription', subscription_id: 'any' } as const;
  const headers: Record<string, string> = options.key === null ? {} : { authorization: `Token ${keyPlaceholder}` };
  const get = (path = '/v2/products', limits: Partial<AskOptions> = {}, query: ServiceRequest['query'] = {}) =>
    asker.send(
      { kind: 'prepared', question, sign: null, request: { method: 'GET', path, query, headers, body: null } },
      { deadline_ms: 60_000, max_bytes: 1_000_000, signal: never, ...limits },
    );
  return { clock, http, get };
}

const json = { 'content-type': 'application/json' };

/** What comes of one answer; the response is the server's to write. */
async function outcomeOf(listener: RequestListener, limits: Partial<AskOptions> = {}): Promise<Outcome> {
  return client(await serve(listener)).get('/v2/products', limits);
}

const noShares = Object.fromEntries(lanes.map((lane) => [lane, 0])) as Record<(typeof lanes)[number], number>;

describe('an answer', () => {
  test('is the text, hash and size of the body, and the instant of asking', async () => {
    const { get, clock } = client(await serve((_, response) => response.writeHead(200, json).end('{"å":1}')));
    const body = Buffer.from('{"å":1}');
    expect(await get()).toEqual({
      kind: 'answer',
      status: 200,
      text: '{"å":1}',
      hash: createHash('sha256').update(body).digest('hex'),
      bytes: body.length,
      sent_at: clock.now(),
      called_at: clock.now(),
    });
  });

  test('is asked for with the key, the agent and the query, in that form', async () => {
    const asked: unknown[] = [];
    const { get } = client(
      await serve((request, response) => {
        const { authorization, accept, 'user-agent': agent, 'accept-encoding': encoding } = request.headers;
        asked.push([request.method, request.url, authorization, accept, agent, encoding]);
        response.writeHead(200, json).end('{}');
      }),
    );
    await get('/v2/products', {}, { city_id: ['1', '2'], lang: 'en', q: 'a b&c' });
    expect(asked).toEqual([
      [
        'GET',
        '/v2/products?city_id=1&city_id=2&lang=en&q=a+b%26c',
        `Token ${key}`,
        'application/json',
        'brand catalogued',
        'gzip',
      ],
    ]);
  });

  test('carries no key where there is none', async () => {
    let authorization: string | undefined = 'not asked';
    const base = await serve((request, response) => {
      authorization = request.headers.authorization;
      response.writeHead(200, json).end('{}');
    });
    await client(base, { key: null }).get();
    expect(authorization).toBe(undefined);
  });

  test('asks no proxy of the environment', async () => {
    const saved = { ...process.env };
    closers.push(() => Object.assign(process.env, { http_proxy: '', HTTP_PROXY: '' }, saved));
    Object.assign(process.env, {
      http_proxy: 'http://127.0.0.1:1',
      HTTP_PROXY: 'http://127.0.0.1:1',
      NODE_USE_ENV_PROXY: '1',
    });
    expect(await outcomeOf((_, response) => response.writeHead(200, json).end('{}'))).toMatchObject({ kind: 'answer' });
  });

  test.each(['GZIP', 'x-gzip'])('is inflated as %s, and hashed after that', async (encoding) => {
    const body = Buffer.from('{"a":"gzip"}');
    const outcome = await outcomeOf((_, response) =>
      response.writeHead(200, { ...json, 'content-encoding': encoding }).end(gzipSync(body)),
    );
    expect(outcome).toMatchObject({
      text: '{"a":"gzip"}',
      bytes: body.length,
      hash: createHash('sha256').update(body).digest('hex'),
    });
  });

  test('that came before has the same hash and size, of many parts and inflated, and no text', async () => {
    const text = `["${'naïve €'.repeat(50_000)}"]`;
    for (const headers of [json, { ...json, 'content-encoding': 'gzip' }]) {
      const body = headers === json ? Buffer.from(text) : gzipSync(text);
      const { get } = client(await serve((_, response) => response.writeHead(200, headers).end(body)));
      const first = await get();
      const { hash } = first as Extract<Outcome, { kind: 'answer' }>;
      const again = await get('/v2/products', { known_hash: hash });
      expect(first).toMatchObject({ kind: 'answer', text, bytes: Buffer.byteLength(text) });
      expect(again).toMatchObject({ kind: 'answer', text: '', hash, bytes: Buffer.byteLength(text) });
    }
  });

  test('is whole although its connection reads all of them into the same memory', async () => {
    const bodyOf = (path = '') => JSON.stringify(path.repeat(Number(path.slice(1))));
    // In pieces that come apart, so that answers of the two connections take turns.
    const base = await serve(async (request, response) => {
      response.writeHead(200, json);
      const body = bodyOf(request.url);
      for (let at = 0; at < body.length; at += 150_000) {
        response.write(body.slice(at, at + 150_000));
        await new Promise(setImmediate);
      }
      response.end();
    });
    const { get } = client(base, { connections: 2 });
    const paths = Array.from({ length: 60 }, (_, index) => `/${(index * 7919) % 90_000}`);
    const wrong = paths.map(async (path) => {
      const outcome = await get(path);
      return outcome.kind === 'answer' && outcome.text === bodyOf(path) ? [] : [path, outcome.kind];
    });
    expect((await Promise.all(wrong)).flat()).toEqual([]);
  });

  test('whose end says another size than it inflates to is not the gzip it claims to be', async () => {
    for (const said of [0, 7, 900_000, 0xffff_ffff]) {
      const packed = gzipSync(`["${'x'.repeat(70_000)}"]`);
      packed.writeUInt32LE(said, packed.length - 4);
      const outcome = await outcomeOf((_, response) =>
        response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(packed),
      );
      expect(outcome).toMatchObject({ kind: 'failed', code: 'bad-encoding' });
    }
  });

  test.for(['application/json; charset=utf-8', 'Application/JSON', 'application/problem+json', 'application/json;'])(
    'may be of type %s',
    async (type) => {
      const outcome = await outcomeOf((_, response) => response.writeHead(200, { 'content-type': type }).end('{}'));
      expect(outcome).toMatchObject({ kind: 'answer', text: '{}' });
    },
  );

  test('may begin with a byte order mark, which is no part of the text', async () => {
    const outcome = await outcomeOf((_, response) => response.writeHead(200, json).end('\uFEFF{}'));
    expect(outcome).toMatchObject({ kind: 'answer', text: '{}', bytes: 5 });
  });

  test('leaves its connection to the next call, and so do a refusal, a throttle, a redirect and an error', async () => {
    const statuses = [200, 404, 429, 302, 500, 200];
    const ports = new Set<number | undefined>();
    const { get } = client(
      await serve((request, response) => {
        ports.add(request.socket.remotePort);
        response.writeHead(statuses.shift() ?? 200, json).end(`{"message":"${'x'.repeat(100_000)}"}`);
      }),
      { connections: 1 },
    );
    for (let i = 0; i < 6; i++) await get();
    expect(ports.size).toBe(1);
  });
});

describe('what cannot be used fails:', () => {
  const big = gzipSync(Buffer.alloc(20_000_000, ' '));

  test.for<[what: string, code: string, listener: RequestListener]>([
    ['HTML', 'not-json-type', (_, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<html>')],
    [
      'JSON that does not say so',
      'not-json-type',
      (_, r) => r.writeHead(200, { 'content-type': 'text/plain' }).end('{}'),
    ],
    [
      'a type that only looks like JSON',
      'not-json-type',
      (_, r) => r.writeHead(200, { 'content-type': 'application/jsonp' }).end('{}'),
    ],
    ['no type', 'not-json-type', (_, r) => r.writeHead(200).end('{}')],
    ['no content', 'status-204', (_, r) => r.writeHead(204).end()],
    ['a part', 'status-206', (_, r) => r.writeHead(206, json).end('{}')],
    ['an error of the service', 'status-500', (_, r) => r.writeHead(500, json).end('{"success":false}')],
    ['an unknown error of the service', 'status-599', (_, r) => r.writeHead(599, json).end('{}')],
    [
      'an encoding nobody asked for',
      'bad-encoding',
      (_, r) => r.writeHead(200, { ...json, 'content-encoding': 'br' }).end('{}'),
    ],
    [
      'gzip that is none',
      'bad-encoding',
      (_, r) => r.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{}'),
    ],
    [
      'gzip that ends early',
      'truncated',
      (_, r) => r.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync('{"a":1}').subarray(0, -9)),
    ],
    [
      '20 MB in 20 kB of gzip',
      'too-large',
      (_, r) => r.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(big),
    ],
    ['more bytes than allowed', 'too-large', (_, r) => r.writeHead(200, json).end(' '.repeat(1_000_001))],
    [
      'bytes that are not UTF-8',
      'invalid-utf8',
      (_, r) => r.writeHead(200, json).end(Buffer.from([0x22, 0xc3, 0x28, 0x22])),
    ],
    [
      'a lone surrogate in bytes',
      'invalid-utf8',
      (_, r) => r.writeHead(200, json).end(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])),
    ],
    ['huge headers', 'too-large', (_, r) => r.writeHead(200, { ...json, 'x-huge': 'x'.repeat(20_000) }).end('{}')],
  ])('%s is %s', async ([, code, listener]) => {
    expect(await outcomeOf(listener)).toMatchObject({ kind: 'failed', code });
  });

  test.for<[what: string, code: string, bytes: string, then: 'end' | 'reset']>([
    [
      'a body shorter than announced whose prefix is JSON',
      'truncated',
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":1}',
      'end',
    ],
    [
      'chunks without an end whose prefix is JSON',
      'truncated',
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n',
      'end',
    ],
    [
      'a connection reset within the body',
      'reset',
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a":1}',
      'reset',
    ],
    ['a connection closed before the answer', 'reset', '', 'end'],
    ['a connection closed within the headers', 'reset', 'HTTP/1.1 200 OK\r\nContent-', 'end'],
    ['a connection reset before the answer', 'reset', '', 'reset'],
    ['another protocol', 'http', 'SSH-2.0-OpenSSH_9.2\r\n', 'end'],
    [
      'a broken chunk',
      'http',
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      'end',
    ],
  ])('%s is %s', async ([, code, bytes, then]) => {
    expect(await client(await serveRaw(bytes, then)).get()).toMatchObject({ kind: 'failed', code });
  });

  test('endless headers', async () => {
    const base = await listen(
      createRawServer((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n');
          const more = () => {
            while (!socket.destroyed && socket.write(`x-more: ${'x'.repeat(500)}\r\n`));
          };
          socket.on('drain', more);
          more();
        });
      }),
    );
    expect(await client(base).get()).toMatchObject({ kind: 'failed', code: 'too-large' });
  });

  test('a kept connection that the service closes as the next request arrives', async () => {
    const base = await listen(
      createRawServer((socket) => {
        socket.once('data', () => {
          socket.once('data', () => socket.end());
          socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
        });
      }),
    );
    const { get } = client(base, { connections: 1 });
    expect(await get()).toMatchObject({ kind: 'answer' });
    expect(await get()).toMatchObject({ kind: 'failed', code: 'reset' });
    expect(await get()).toMatchObject({ kind: 'answer' });
  });

  test('a path that is none is a mistake of ours', async () => {
    await expect(client('http://127.0.0.1:1').get('http://elsewhere.invalid/')).rejects.toThrow(TypeError);
  });
});

describe('time', () => {
  /** A server that says who asked, and answers nothing by itself. */
  async function holding() {
    const asked = Promise.withResolvers<Parameters<RequestListener>[1]>();
    const base = await serve((_, response) => asked.resolve(response));
    return { base, asked: asked.promise };
  }

  test('until there is a connection is told when the request is sent', async () => {
    const late: number[] = [];
    const answers: (() => void)[] = [];
    const base = await serve((_, response) => void answers.push(() => response.writeHead(200, json).end('{}')));
    const { clock, get } = client(base, { connections: 1, late: (ms) => void late.push(ms) });
    const both = [get(), get()];
    await expect.poll(() => answers.length).toBe(1);
    await clock.advance(300);
    answers[0]?.();
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.();
    await Promise.all(both);
    expect(late).toEqual([0, 300]);
  });

  test('that passed while a request waited for a connection may have made it another instance’s: it is not sent', async () => {
    let asked = 0;
    const answers: (() => void)[] = [];
    const base = await serve((_, response) => {
      asked += 1;
      answers.push(() => response.writeHead(200, json).end('{}'));
    });
    let leads = true;
    const { get } = client(base, { connections: 1, maySend: () => leads });
    const both = [get(), get()];
    await expect.poll(() => answers.length).toBe(1);
    leads = false;
    answers[0]?.();
    expect((await Promise.all(both)).map(({ kind }) => kind)).toEqual(['answer', 'failed']);
    expect(asked).toBe(1);
    // The connection is left to whoever may use it.
    leads = true;
    const third = get();
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.();
    expect(await third).toMatchObject({ kind: 'answer' });
  });

  test('ends a call that hangs at its deadline', async () => {
    const { base, asked } = await holding();
    const { get, clock } = client(base);
    const outcome = get();
    await asked;
    await clock.advance(60_000);
    expect(await outcome).toMatchObject({ kind: 'failed', code: 'deadline' });
    expect(clock.pending()).toBe(0);
  });

  test('ends a call that drips at its deadline, however often a byte comes', async () => {
    const { base, asked } = await holding();
    const { get, clock } = client(base);
    let ended = false;
    const outcome = get().finally(() => {
      ended = true;
    });
    const response = await asked;
    response.writeHead(200, json);
    for (let s = 0; s < 59; s++) {
      await new Promise((written) => response.write(' ', written));
      await clock.advance(1000);
      expect(ended).toBe(false);
    }
    await clock.advance(1000);
    expect(await outcome).toMatchObject({ kind: 'failed', code: 'deadline' });
  });

  test('gives the slot of a call that hangs to the next at the deadline', async () => {
    const { base, asked } = await holding();
    const { get, clock } = client(base);
    using limiter = new Limiter({
      budget: { requests_per_second: 20, concurrency: 1, lanes: noShares },
      learned: null,
      throttled: () => undefined,
      clock,
      chance: () => 0,
    });
    const hanging = limiter.run((signal) => get('/', { signal }), never, 'near');
    const next = limiter.run(async () => ({ kind: 'throttled', status: 429, until: null }), never, 'near');
    await asked;
    await clock.advance(60_000);
    expect(await hanging).toMatchObject({ code: 'deadline' });
    expect(await next).toMatchObject({ kind: 'throttled' });
  });

  test('that the caller ends is no outcome: the reason is thrown', async () => {
    const { base, asked } = await holding();
    const { get, clock } = client(base);
    const stop = new AbortController();
    const outcome = get('/', { signal: stop.signal });
    await asked;
    const reason = new Error('shutting down');
    stop.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    expect(clock.pending()).toBe(0);
  });

  test('that the caller ended before asking sends nothing', async () => {
    let asked = 0;
    const base = await serve((_, response) => {
      asked += 1;
      response.end();
    });
    const reason = new Error('shutting down');
    await expect(client(base).get('/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(asked).toBe(0);
  });

  test('in which the client is closed fails the call', async () => {
    const { base, asked } = await holding();
    const { get, http } = client(base);
    const outcome = get();
    await asked;
    await http[Symbol.asyncDispose]();
    expect(await outcome).toMatchObject({ kind: 'failed', code: 'closed' });
  });
});

describe('a throttle', () => {
  test.for([429, 503])('is status %i, until the instant it names', async (status) => {
    const { get, clock } = client(
      await serve((_, response) =>
        response.writeHead(status, { 'retry-after': '120', 'content-type': 'application/json' }).end('{}'),
      ),
    );
    expect(await get()).toEqual({ kind: 'throttled', status, until: clock.now() + 120_000 });
  });

  test('of 503 or 502 that is no JSON may come from a proxy, and keeps the instant it names', async () => {
    const page = (status: number) =>
      serve((_, response) =>
        response.writeHead(status, { 'retry-after': '5', 'content-type': 'text/html' }).end('<p>'),
      );
    const [unavailable, gateway] = [client(await page(503)), client(await page(502))];
    expect(await unavailable.get()).toMatchObject({ proxied: true, until: unavailable.clock.now() + 5000 });
    expect(await gateway.get()).toMatchObject({ code: 'status-502', until: gateway.clock.now() + 5000 });
    // Limits of proxies are answered so.
    expect(await client(await page(429)).get()).not.toHaveProperty('proxied');
  });

  test('may name an instant on the service’s own clock', async () => {
    const { get, clock } = client(
      await serve((_, response) =>
        response
          .writeHead(429, { date: 'Sat, 01 Jan 2028 10:00:00 GMT', 'retry-after': 'Sat, 01 Jan 2028 10:00:09 GMT' })
          .end(),
      ),
    );
    expect(await get()).toEqual({ kind: 'throttled', status: 429, until: clock.now() + 9_000 });
  });

  test('may name none', async () => {
    expect(await outcomeOf((_, response) => response.writeHead(429).end())).toEqual({
      kind: 'throttled',
      status: 429,
      until: null,
    });
  });

  test('is one even where its body is broken', async () => {
    const base = await serveRaw('HTTP/1.1 429 No\r\nRetry-After: 5\r\nContent-Length: 100\r\n\r\nslow');
    expect(await client(base).get()).toMatchObject({ kind: 'throttled', status: 429 });
  });

  test('is one even where its body never ends', async () => {
    const base = await listen(
      createRawServer((socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write(Buffer.alloc(16_384)));
        };
        socket.once('data', () => {
          socket.write('HTTP/1.1 429 No\r\nContent-Length: 1000000000000\r\n\r\n');
          more();
        });
        socket.on('drain', more);
      }),
    );
    expect(await client(base).get()).toMatchObject({ kind: 'throttled', status: 429 });
  });
});

describe('a refusal', () => {
  const refusing = (status: number, body: unknown, headers: Record<string, string> = json) =>
    outcomeOf((_, response) =>
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body)),
    );

  test.for<[generation: string, status: number, body: unknown, code: string, message: string]>([
    [
      'documented',
      400,
      { success: false, error_code: 'checkout_disabled', message: 'Closed.', reason: 'x' },
      'checkout_disabled',
      'Closed.',
    ],
    [
      'of 2026',
      401,
      { success: false, api_version: {}, error: 'unauthorized', message: 'Key not accepted.' },
      'unauthorized',
      'Key not accepted.',
    ],
    ['of 2017', 404, { message: 'Not here.', status: 404, success: false }, 'status-404', 'Not here.'],
    ['of 2017, without a flag', 401, { message: 'No.' }, 'status-401', 'No.'],
    ['gone', 410, { error_code: 'resource_gone' }, 'resource_gone', 'the service answered 410'],
    ['with both members', 400, { error_code: 'a', error: 'b' }, 'a', 'the service answered 400'],
    ['with other types', 403, { error_code: 7, error: {}, message: [] }, 'status-403', 'the service answered 403'],
    ['in HTML', 405, '<html>', 'status-405', 'the service answered 405'],
    ['that is null', 404, 'null', 'status-404', 'the service answered 404'],
    ['that is empty', 404, '', 'status-404', 'the service answered 404'],
    ['that is endless', 404, `{"message":"${'x'.repeat(200_000)}"}`, 'status-404', 'the service answered 404'],
  ])('%s: %i', async ([, status, body, code, message]) => {
    expect(await refusing(status, body)).toEqual({ kind: 'refused', status, code, message });
  });

  test('in an encoding nobody asked for is still one', async () => {
    expect(await refusing(404, 'x', { 'content-encoding': 'br' })).toMatchObject({
      kind: 'refused',
      code: 'status-404',
    });
  });

  test('that is cut off is none: it may have said something else', async () => {
    const base = await serveRaw('HTTP/1.1 400 No\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{}');
    expect(await client(base).get()).toMatchObject({ kind: 'failed', code: 'truncated' });
  });

  test('speaks in one line of at most 300 characters, without what was sent and what steers a terminal', async () => {
    const words = `Token ${key} is bad\r\n\u001b[31mat https://u:p@api.example/v2?x=1 ${'y'.repeat(500)}`;
    const outcome = await refusing(401, { message: words, error: `bad ${key}` });
    expect(outcome).toMatchObject({ code: 'bad [key]' });
    const { message } = outcome as { message: string };
    expect(message).toMatch(/^Token \[key\] is bad \[31mat \[address\] y+$/);
    expect(message).toHaveLength(300);
  });
});

describe('the key stays at home:', () => {
  test.for([301, 302, 303, 307, 308])('a redirect (%i) is not followed', async (status) => {
    let elsewhere = 0;
    const other = await serve((_, response) => {
      elsewhere += 1;
      response.end();
    });
    const outcome = await outcomeOf((_, response) =>
      response.writeHead(status, { location: `${other}/?${key}` }).end(),
    );
    expect(outcome).toEqual({
      kind: 'failed',
      code: 'redirect',
      message: `the service redirects to ${other}/ (${status})`,
    });
    expect(elsewhere).toBe(0);
  });

  test('a page in the place of an answer is quoted by one line of 120 characters, without the key and addresses', async () => {
    const page = `<p>\u0007${key}\r\nsign in at https://user:pw@portal.example/hooks/secret?k=${key} ${'x'.repeat(200)}`;
    const outcome = await outcomeOf((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page),
    );
    const { message } = outcome as { message: string };
    expect(message).toMatch(
      /^the service answers with HTML instead of JSON: `<p> \[key\] sign in at \[address\] x+…`$/,
    );
    expect(/`(.*)…`/.exec(message)?.[1]).toHaveLength(120);
    const redirect = await outcomeOf((_, response) =>
      response.writeHead(302, { location: `/login/${key}?${key}` }).end(),
    );
    expect(redirect).toMatchObject({
      message: expect.stringMatching(/^the service redirects to http\S+\/login\/\[key\] \(302\)$/),
    });
  });

  test('no outcome says the key, the query or the address', async () => {
    const bases = [
      await serveRaw('nonsense'),
      await serveRaw('', 'reset'),
      await serve((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end()),
      await serve((_, response) => response.writeHead(500).end()),
      'http://127.0.0.1:1',
      'http://no-such-host.invalid',
    ];
    for (const base of bases) {
      const outcome = await client(base).get('/v2/products', {}, { secret: 'canary-query' });
      expect(JSON.stringify(outcome)).not.toMatch(/canary|127\.0\.0\.1|invalid|http:\/\//);
    }
  });
});

describe('without a connection the service is unreachable:', () => {
  test('nobody listens', async () => {
    const base = await serve(() => undefined);
    await closers.pop()?.();
    expect(await client(base).get()).toMatchObject({ kind: 'unreachable', code: 'connection-refused' });
  });

  test('nobody listens at any address of the name', async () => {
    const base = await serve(() => undefined);
    await closers.pop()?.();
    const outcome = await client(base.replace('127.0.0.1', 'localhost')).get();
    expect(outcome).toMatchObject({ kind: 'unreachable', code: 'connection-refused' });
  });

  test('the name does not exist', async () => {
    expect(await client('http://no-such-host.invalid').get()).toMatchObject({ kind: 'unreachable', code: 'dns' });
  });

  test('the other side does not speak TLS', async () => {
    const base = await serve((_, response) => response.end());
    expect(await client(base.replace('http:', 'https:')).get()).toMatchObject({ kind: 'unreachable', code: 'tls' });
  });

  test('the other side hangs up during the handshake', async () => {
    const base = await listen(
      createRawServer((socket) => void socket.once('data', () => socket.end())),
      'https',
    );
    expect(await client(base).get()).toMatchObject({ kind: 'unreachable', code: 'tls' });
  });

  test('the handshake takes longer than a connection may', async () => {
    const base = await listen(
      createRawServer(() => undefined),
      'https',
    );
    const timeouts = { connect: 50, headers: 60_000, idle: 60_000 };
    expect(await client(base, { timeouts }).get()).toMatchObject({ kind: 'unreachable', code: 'connect-timeout' });
  });

  test.for<[what: string, days: number, name: string, trusted: boolean]>([
    ['signed by itself', 2, 'IP:127.0.0.1', false],
    ['expired', -1, 'IP:127.0.0.1', true],
    ['of another host', 2, 'DNS:other.invalid', true],
  ])('its certificate is %s, and it learns nothing', needs('openssl'), async ([, days, name, trusted]) => {
    const { base, asked } = await serveTls(days, name, trusted);
    expect(await client(base).get()).toMatchObject({ kind: 'unreachable', code: 'tls' });
    expect(asked()).toBe(0);
  });

  test('but one that is trusted, valid and its own is answered', needs('openssl'), async () => {
    const { base, asked } = await serveTls(2, 'IP:127.0.0.1', true);
    expect(await client(base).get()).toMatchObject({ kind: 'answer' });
    expect(asked()).toBe(1);
  });
});

/** A server with a fresh certificate; `trusted`: this process takes it for an authority until the test ends. */
async function serveTls(days: number, name: string, trusted: boolean): Promise<{ base: string; asked: () => number }> {
  const directory = mkdtempSync(join(tmpdir(), 'catalogued-tls-'));
  const [keyFile, request, extensions] = ['key.pem', 'request.pem', 'extensions'].map((file) =>
    join(directory, file),
  ) as [string, string, string];
  // In a variable: knip takes a literal for a package's command.
  const program = 'openssl';
  const openssl = (...args: string[]) => execFileSync(program, args, { stdio: 'pipe', encoding: 'utf8' });
  try {
    writeFileSync(extensions, `subjectAltName=${name}`);
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
    openssl('req', ...curve, '-nodes', '-keyout', keyFile, '-out', request, '-subj', '/CN=test');
    const how = ['-signkey', keyFile, '-days', String(days), '-extfile', extensions];
    const cert = openssl('x509', '-req', '-in', request, ...how);
    if (trusted) {
      const before = getCACertificates('default');
      setDefaultCACertificates([cert]);
      closers.push(() => setDefaultCACertificates(before));
    }
    let asked = 0;
    const server = createTlsServer({ key: readFileSync(keyFile), cert }, (_, response) => {
      asked += 1;
      response.writeHead(200, json).end('{}');
    });
    return { base: await listen(server, 'https'), asked: () => asked };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('the time of the service', () => {
  const heardFrom = async (headers: Record<string, string>) => {
    const url = await serve((_, response) => {
      response.sendDate = false;
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end('{}');
    });
    const heard: (number | null)[] = [];
    const { get } = client(url, { heard: (offset) => heard.push(offset) });
    await get();
    return heard;
  };
  const date = (ms: number) => new Date(Date.UTC(2026, 10, 21) + ms).toUTCString();

  test.each([
    ['is heard with each answer, to half a second', { date: date(90_000) }, [90_500]],
    ['is the date of an answer that a cache has kept, and for how long', { date: date(-600_000), age: '600' }, [500]],
    ['is not spoilt by an age that is none', { date: date(0), age: 'old' }, [500]],
    ['is unknown without a Date', {}, [null]],
    ['is unknown where the Date is none', { date: 'today' }, [null]],
  ])('%s', async (_, headers, heard) => {
    expect(await heardFrom(headers as Record<string, string>)).toEqual(heard);
  });

  const madeFrom = async (headers: Record<string, string>, offset: number | null) => {
    const url = await serve((_, response) => {
      response.sendDate = false;
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end('{}');
    });
    const answer = await client(url, { offset: () => offset }).get();
    if (answer.kind !== 'answer') throw new Error(answer.kind);
    return [answer.sent_at, answer.called_at].map((at) => (at ?? 0) - Date.UTC(2026, 10, 21));
  };

  test.each([
    ['is as old as its Age', { age: '90' }, 0, -90_000],
    ['is as old as its Date lags behind the clock of the service', { date: date(-30_000) }, 0, -30_000],
    ['is as old as its Date lags behind a clock that is ahead of ours', { date: date(0) }, 60_000, -60_000],
    ['is as old as the larger of the two', { age: '20', date: date(-30_000) }, 0, -30_000],
    ['is at most 15 minutes old', { age: '86400' }, 0, -900_000],
    ['is not older for the seconds that rounding and the way may take', { date: date(-2000) }, 0, 0],
    ['is not older for a Date while clocks are doubted', { date: date(-30_000) }, null, 0],
    ['is not older for an age that is none', { age: '-5' }, 0, 0],
    ['is not younger for a Date ahead', { date: date(60_000) }, 0, 0],
  ])('an answer counts from when it was made, and not from when we asked: it %s', async (_, headers, offset, made) => {
    expect(await madeFrom(headers as Record<string, string>, offset)).toEqual([made, 0]);
  });

  test('corrects the instant of the very answer that shows that our clock was wrong', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    const own = manualClock();
    const { get } = client(url, { clock: own, heard: () => own.jump(86_400_000) });
    expect(await get()).toMatchObject({ kind: 'answer', sent_at: Date.UTC(2026, 10, 22) });
  });
});
