import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type LookupFunction } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/clock.ts';
import { type ImageTrouble, startImageHost } from '../../src/sandbox/images/image-host.ts';
import { createImageHost, type ImageHostOptions, imagePace } from '../../src/service/image-host.ts';
import { countConnections } from '../fakes/connections.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const never = new AbortController().signal;
const key = 'a'.repeat(32);
const loopback = { hosts: [], addresses: ['127.0.0.1'] };

function client(options: Partial<ImageHostOptions> = {}) {
  return createImageHost({
    reach: loopback,
    user_agent: 'catalogued test',
    max_bytes: 1_000_000,
    deadline_ms: 5000,
    requests_per_second: 100_000,
    concurrency: 4,
    clock: systemClock,
    ...options,
  });
}

function sink() {
  const parts: Uint8Array[] = [];
  return { write: async (part: Uint8Array) => void parts.push(part), body: () => Buffer.concat(parts) };
}

async function harness(options: Partial<ImageHostOptions> = {}) {
  const stack = new AsyncDisposableStack();
  const asked: IncomingHttpHeaders[] = [];
  const images = stack.use(
    await startImageHost({ clock: systemClock, seed: 1, asked: ({ headers }) => void asked.push(headers) }),
  );
  const host = stack.use(client(options));
  const url = `${images.url}/images/content/${key}.jpg?h=500&w=500`;
  return { images, host, url, asked, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

describe('the image host’s client', () => {
  it('brings a file with its checksum, and asks with what it knows the next time', async () => {
    await using at = await harness();
    const first = sink();
    const received = await at.host.get(at.url, null, first, never);
    if (received.kind !== 'received') throw new Error(received.kind);
    expect(received).toMatchObject({ bytes: first.body().length, checksum: hash('sha256', first.body()) });
    expect(received.etag).not.toBeNull();
    const bytes = at.images.bytes();
    expect(await at.host.get(at.url, received, sink(), never)).toMatchObject({ kind: 'unchanged' });
    expect(at.images.bytes()).toBe(bytes);
  });

  it('sends no credentials, no cookies and no referrer', async () => {
    await using at = await harness();
    await at.host.get(at.url, null, sink(), never);
    expect(Object.keys(at.asked[0] ?? {}).sort()).toEqual(
      ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'].sort(),
    );
  });

  it.each<[ImageTrouble, object]>([
    [{ kind: 'status', status: 404 }, { kind: 'gone' }],
    [{ kind: 'status', status: 410 }, { kind: 'gone' }],
    [
      { kind: 'status', status: 403 },
      { kind: 'refused', code: 'status-403' },
    ],
    [
      { kind: 'status', status: 500 },
      { kind: 'failed', code: 'status-500' },
    ],
    [{ kind: 'html' }, { kind: 'refused', code: 'type' }],
    [{ kind: 'svg' }, { kind: 'refused', code: 'type' }],
    [
      { kind: 'text' },
      { kind: 'refused', code: 'type', message: 'the answer has the media type text/plain, which is not supported' },
    ],
    [
      { kind: 'svg', type: 'binary/octet-stream' },
      { kind: 'received', inspected: { message: 'the answer is SVG or XML, which is not supported' } },
    ],
    [
      { kind: 'redirect', to: 'http://127.0.0.1:9/' },
      { kind: 'refused', code: 'redirect' },
    ],
    [{ kind: 'truncated' }, { kind: 'failed', code: 'transfer' }],
    [
      { kind: 'huge', bytes: 1e9, length: 'announced' },
      { kind: 'refused', code: 'too-large' },
    ],
    [
      { kind: 'huge', bytes: 1e9, length: 'unannounced' },
      { kind: 'refused', code: 'too-large' },
    ],
  ])('%j ends as %j', async (trouble, outcome) => {
    await using at = await harness();
    at.images.trouble(key, trouble);
    const taken = sink();
    expect(await at.host.get(at.url, null, taken, never)).toMatchObject(outcome);
    expect(taken.body().length).toBeLessThanOrEqual(1_000_000);
  });

  it('gives a file of a gigabyte up at max_bytes, announced or not', async () => {
    await using at = await harness();
    at.images.trouble(key, { kind: 'huge', bytes: 1e9, length: 'announced' });
    await at.host.get(at.url, null, sink(), never);
    const announced = at.images.bytes();
    at.images.trouble(key, { kind: 'huge', bytes: 1e9, length: 'unannounced' });
    await at.host.get(at.url, null, sink(), never);
    // What lies in the buffers of two sockets is sent and not received.
    expect(announced).toBeLessThan(8_000_000);
    expect(at.images.bytes() - announced).toBeLessThan(9_000_000);
  });

  it('ends a file that trickles at the deadline', async () => {
    await using at = await harness({ deadline_ms: 200 });
    at.images.trouble(key, { kind: 'drip', ms: 20 });
    expect(await at.host.get(at.url, null, sink(), never)).toMatchObject({ kind: 'failed', code: 'deadline' });
  });

  it.each([429, 503])('after a %i nothing is asked of that host until it may be', async (status) => {
    await using at = await harness();
    at.images.trouble(key, { kind: 'status', status, retry_after: '60' });
    const before = Date.now();
    const paused = await at.host.get(at.url, null, sink(), never);
    if (paused.kind !== 'paused') throw new Error(paused.kind);
    expect(paused.until).toBeGreaterThanOrEqual(before + 60_000);
    at.images.trouble(key, null);
    expect(await at.host.get(at.url, null, sink(), never)).toEqual(paused);
    expect(at.images.requests()).toBe(1);
  });

  it('has at most four files under way', async () => {
    await using at = await harness();
    at.images.trouble(key, { kind: 'drip', ms: 1000 });
    const ending = new AbortController();
    const all = Array.from({ length: 12 }, () => at.host.get(at.url, null, sink(), ending.signal).catch(() => 'ended'));
    while (at.images.requests() < 4) await systemClock.sleep(5);
    await systemClock.sleep(100);
    expect(at.images.requests()).toBe(4);
    ending.abort(new Error('over'));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 12 }, () => 'ended'));
  });

  it('starts no faster than its rate', async () => {
    const clock = virtualClock(0);
    const pace = imagePace(clock, { requests_per_second: 10, concurrency: 4 });
    const starts: number[] = [];
    const take = async () => {
      using _ = await pace.turn(never);
      starts.push(clock.now());
    };
    const all = Promise.all(Array.from({ length: 9 }, take));
    for (let each = 0; each < 12; each += 1) {
      await setImmediate();
      clock.next();
    }
    await all;
    expect(starts).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800]);
  });

  it('passes an error of whoever takes the file on as it is', async () => {
    await using at = await harness();
    const failing = { write: () => Promise.reject(new Error('disk full')) };
    await expect(at.host.get(at.url, null, failing, never)).rejects.toThrow('disk full');
  });
});

/** Names of the corpus, as a resolver of theirs would answer. */
const names: Readonly<Record<string, readonly [string, 4 | 6][]>> = {
  'inside.example.com': [['10.0.0.7', 4]],
  'loop.example.com': [['127.0.0.1', 4]],
  'mixed.example.com': [
    ['93.184.216.34', 4],
    ['127.0.0.1', 4],
  ],
  'metadata.example.com': [['169.254.169.254', 4]],
  'mapped.example.com': [['::ffff:127.0.0.1', 6]],
  'ula.example.com': [['fd00::1', 6]],
};

const lookup: LookupFunction = (hostname, _, done) => {
  const found = (names[hostname] ?? []).map(([address, family]) => ({ address, family }));
  if (found.length === 0) done(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
  else done(null, found);
};

/** What a service's answer could say to make us ask our own network; P is the port of something that listens here. */
const corpus = [
  'http://127.0.0.1:P/',
  'http://127.0.0.1/',
  'http://localhost:P/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://app.localhost/',
  'http://[::1]:P/',
  'http://[::1]/',
  'http://0.0.0.0:P/',
  'http://0:P/',
  'http://127.1:P/',
  'http://2130706433:P/',
  'http://0x7f000001:P/',
  'http://0177.0.0.1:P/',
  'http://0x7f.0x0.0x0.0x1/',
  'http://１２７.0.0.1/',
  'http://[::ffff:127.0.0.1]:P/',
  'http://[::ffff:7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::127.0.0.1]/',
  'http://[2002:7f00:1::]/',
  'http://169.254.169.254/latest/meta-data/',
  'http://10.0.0.1/',
  'http://172.16.0.1/',
  'http://192.168.0.1/',
  'http://100.64.0.1/',
  'http://224.0.0.1/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://[ff02::1]/',
  'http://user:password@127.0.0.1:P/',
  'http://images.example.com@127.0.0.1:P/',
  'http://images.example.com:P/',
  'file:///etc/passwd',
  'ftp://127.0.0.1/a.jpg',
  'data:image/png;base64,iVBORw0KGgo=',
  'gopher://127.0.0.1:P/',
  '//127.0.0.1:P/a.jpg',
  ...Object.keys(names).map((name) => `http://${name}/`),
];

/** Asks for all of them; returns what reached a listener, and what the operating system was asked to connect to. */
async function askAll(addresses: readonly string[]) {
  let accepted = 0;
  const server = createTcpServer((socket) => {
    accepted += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await using host = client({ reach: { hosts: [], addresses }, lookup });
  using connections = countConnections();
  const outcomes: string[] = [];
  for (const url of corpus) outcomes.push((await host.get(url.replace('P/', `${port}/`), null, sink(), never)).kind);
  const closed = once(server, 'close');
  server.close();
  await closed;
  return { accepted, outcomes, connects: connections.connects(), queries: connections.queries() };
}

describe('requests into our own network', () => {
  it(`${corpus.length} addresses that lead there are refused: no connection is begun, and no name asked for`, async () => {
    const { outcomes, ...left } = await askAll([]);
    expect(corpus.length).toBeGreaterThanOrEqual(30);
    expect(corpus.filter((_, at) => outcomes[at] !== 'refused')).toEqual([]);
    expect(left).toEqual({ accepted: 0, connects: 0, queries: 0 });
  });

  it('the counters see one that is let through (control)', async () => {
    const { accepted, connects } = await askAll(['127.0.0.1']);
    expect(accepted).toBeGreaterThan(0);
    expect(connects).toBeGreaterThanOrEqual(accepted);
  });

  it('a name that answers differently the second time is refused then: what was looked at is connected to', async () => {
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.writeHead(404, { connection: 'close' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const answers = ['127.0.0.1', '127.0.0.2'];
    const rebinding: LookupFunction = (_, __, done) =>
      done(null, [{ address: answers.shift() ?? '127.0.0.3', family: 4 }]);
    // 127.0.0.1 stands for an address outside.
    const reach = { hosts: [], addresses: ['rebind.example.com', '127.0.0.1'] };
    await using host = client({ reach, lookup: rebinding });
    const url = `http://rebind.example.com:${port}/a.jpg`;
    expect(await host.get(url, null, sink(), never)).toMatchObject({ kind: 'gone' });
    expect(await host.get(url, null, sink(), never)).toMatchObject({ kind: 'refused', code: 'private-address' });
    expect(requests).toBe(1);
    expect(answers).toEqual([]);
    server.close();
  });
});
