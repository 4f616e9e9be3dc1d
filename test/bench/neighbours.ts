import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { Client } from 'undici';
import { openReader, type Reader } from '../../src/storefront/reader.ts';
import { freePort } from '../fakes/free-port.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { type Line, median } from './line.ts';

/*
 * What users would pick instead: the same JSON behind nginx `proxy_cache`, over one kept connection, and in Redis, over
 * loopback. Each is asked for one document after the other, in rounds close together, and every answer is looked at.
 */

const rounds = 60;
const warmUp = 10;
const shown = 40;
/** The target of a page: Redis is the last of them. */
const wholePage = 'not slower than Redis';

/** Where a storefront gets a document from; the key is a path. */
interface Source extends AsyncDisposable {
  readonly name: string;
  get(key: string): Promise<string>;
}

export async function neighbourLines(): Promise<Line[]> {
  const missing = ['nginx', 'redis-server'].filter((program) => spawnSync(program, ['-v']).error !== undefined);
  if (missing.length > 0) return notRun(`not run: there is no ${missing.join(' and no ')} here`);
  await using harness = await virtualHarness({ products: 150 }, {}, { start: Date.now() });
  await harness.runUntil(() => harness.wiring.mirror.filledAt() !== null);
  using reader = openReader(harness.wiring.mirror.path);
  const ids = reader
    .products({ limit: 1000 })
    .filter(({ sellable }) => sellable === 1)
    .map(({ product_id }) => product_id)
    .slice(0, shown);
  const pages = new Map(ids.map((id) => [`/pages/${id}`, JSON.stringify(pageOf(reader, id))]));
  const documents = new Map(ids.map((id) => [`/products/${id}`, reader.product(id)?.document ?? '']));
  const texts = new Map([...pages, ...documents]);
  using directory = temporaryDirectory();
  await using nginx = await startNginx(directory.path, texts);
  await using redis = await startRedis(directory.path, texts);
  return [
    await lineOf(`one document (${kilobytes(documents)} kB)`, 'a tenth of each', ids, {
      own: (id) => reader.product(id)?.document?.length ?? 0,
      key: (id) => `/products/${id}`,
      read: (text) => text.length,
      sources: [nginx, redis],
    }),
    await lineOf(`all of a product page, parsed (${kilobytes(pages)} kB)`, wholePage, ids, {
      own: (id) => JSON.parse(pageOf(reader, id).product?.document ?? 'null').id.length,
      key: (id) => `/pages/${id}`,
      read: (text) => JSON.parse(JSON.parse(text).product.document).id.length,
      sources: [nginx, redis],
    }),
  ];
}

const shownColumns = ['date', 'state', 'lowest_adult_price', 'stale'] as const;

/** Product, images, the four columns that a calendar of 92 days shows, and the slots of one date, as one state of the mirror. */
function pageOf(reader: Reader, product_id: number) {
  const date = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  return reader.transaction(() => ({
    product: reader.product(product_id),
    images: reader.images(product_id),
    calendar: reader.calendar(product_id, { from: date(0), to: date(91), columns: shownColumns }),
    slots: reader.slots(product_id, date(5)),
  }));
}

interface Comparison {
  /** Each returns a number that has to be the same everywhere: nobody answers with something else. */
  readonly own: (product_id: number) => number;
  readonly key: (product_id: number) => string;
  readonly read: (text: string) => number;
  readonly sources: readonly Source[];
}

async function lineOf(
  what: string,
  target: string,
  ids: readonly number[],
  { own, key, read, sources }: Comparison,
): Promise<Line> {
  const asked = [
    { name: 'catalogued/reader', ask: async (id: number) => own(id) },
    ...sources.map(({ name, get }) => ({ name, ask: async (id: number) => read(await get(key(id))) })),
  ];
  const times = new Map(asked.map(({ name }) => [name, [] as number[]]));
  for (let round = -warmUp; round < rounds; round += 1) {
    const answers = new Map<number, Set<number>>(ids.map((id) => [id, new Set()]));
    for (const { name, ask } of asked) {
      for (const id of ids) {
        const start = performance.now();
        const answer = await ask(id);
        if (round >= 0) times.get(name)?.push(1000 * (performance.now() - start));
        answers.get(id)?.add(answer);
      }
    }
    const other = ids.find((id) => answers.get(id)?.size !== 1);
    if (other !== undefined) throw new Error(`product ${other} is not the same everywhere`);
  }
  const [mine = 0, ...others] = [...times.values()].map(median);
  const beside = others.map(
    (other, index) => `${sources[index]?.name} ${other.toFixed(0)} µs = ${(other / mine).toFixed(1)} ×`,
  );
  return {
    what: `reader beside its neighbours: ${what}`,
    value: `${mine.toFixed(1)} µs; ${beside.join('; ')}`,
    target,
    met: target === wholePage ? mine <= (others.at(-1) ?? 0) : others.every((other) => mine <= other / 10),
  };
}

/** An nginx in front of a server that knows the texts; it is asked once for each, the rest comes out of its cache. */
async function startNginx(directory: string, texts: ReadonlyMap<string, string>): Promise<Source> {
  let asked = 0;
  const origin = createServer((request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json');
    response.end(texts.get(request.url ?? ''));
  });
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const port = await freePort();
  const root = join(directory, 'nginx');
  mkdirSync(root);
  const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${root}/${kind};`);
  writeFileSync(
    join(root, 'nginx.conf'),
    `${process.getuid?.() === 0 ? 'user root;' : ''} worker_processes 1; daemon off; pid ${root}/pid; error_log stderr crit;
    events { worker_connections 64; }
    http { ${own.join(' ')} access_log off; keepalive_requests 1000000;
      proxy_cache_path ${root}/cache keys_zone=texts:10m;
      server { listen 127.0.0.1:${port};
        location / { proxy_pass http://127.0.0.1:${(origin.address() as AddressInfo).port}; proxy_cache texts; proxy_cache_valid 200 1h; } } }`,
  );
  const child = spawn('nginx', ['-p', root, '-e', 'stderr', '-c', join(root, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const client = new Client(`http://127.0.0.1:${port}`);
  const get = async (path: string) => (await client.request({ path, method: 'GET' })).body.text();
  await untilAnswered(child, () => get([...texts.keys()][0] ?? '/'));
  return {
    name: 'nginx proxy_cache',
    get,
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await end(child);
      origin.close();
      if (asked > texts.size) throw new Error(`nginx asked ${asked} times for ${texts.size} texts: it did not cache`);
    },
  };
}

async function startRedis(directory: string, texts: ReadonlyMap<string, string>): Promise<Source> {
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir: directory };
  const child = spawn(
    'redis-server',
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    { stdio: 'ignore' },
  );
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: 20 } });
  client.on('error', () => undefined);
  await client.connect();
  for (const [key, text] of texts) await client.set(key, text);
  return {
    name: 'Redis GET',
    get: async (key) => (await client.get(key)) ?? '',
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await end(child);
    },
  };
}

async function untilAnswered(child: ChildProcess, ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const answered = await ask().then(
      () => true,
      () => false,
    );
    if (answered) return;
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with ${child.exitCode}`);
    await setTimeout(20);
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  await ended;
}

function kilobytes(texts: ReadonlyMap<string, string>): string {
  return (median([...texts.values()].map(({ length }) => length)) / 1000).toFixed(1);
}

function notRun(value: string): Line[] {
  return [{ what: 'reader beside its neighbours', value, target: 'a tenth of each', met: 'not run' }];
}
