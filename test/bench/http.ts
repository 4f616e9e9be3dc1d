import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { freePort } from '../fakes/free-port.ts';
import { openReader } from '../fakes/reader.ts';
import { inDays, type Line, median, quantile } from './measure.ts';
import { asked, callbackPath, Home, load, type Service, startProgramHere, startService } from './stage.ts';

/*
 * Reads over HTTP beside the reader in the process, and what a thousand slow readers take from the receiver and from
 * checks.
 */

const products = 120;
const roundMs = 1000;
const slow = 1000;

interface Read {
  readonly times: number[];
  readonly refused: number;
}

export async function httpLines(): Promise<Line[]> {
  await using service = await startService(products);
  using home = new Home();
  const port = await freePort();
  const config = home.config(service.url, 100_000, {
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
    subscriptions: [{ id: 'norland', type: 'product_ids', entities: 'mirrored' }],
    storefront: { listen: `unix:${join(home.cwd, 'storefront.sock')}` },
  });
  await using _ = await home.run(config, 'pass ended');
  await home.command(config, 'subscription', 'apply');
  const lines = await besideReader(home);
  return [...lines, ...(await besideSlow(home, service, port))];
}

async function besideReader(home: Home): Promise<Line[]> {
  using reader = openReader(home.mirror);
  const ids = reader.products({ limit: 40 }).map(({ product_id }) => product_id);
  const [from, to] = [inDays(1), inDays(31)];
  const kinds = [
    ['a product', (id: number) => `/v1/products/${id}`, (id: number) => reader.product(id), 8],
    [
      'a calendar of 31 days',
      (id: number) => `/v1/products/${id}/calendar?from=${from}&to=${to}`,
      (id: number) => reader.calendar(id, { from, to }),
      null,
    ],
    ['a search', () => '/v1/search?text=golden%20musuem', () => reader.search({ text: 'golden musuem' }), 120],
  ] as const;
  const lines: Line[] = [];
  for (const [what, pathOf, read, most] of kinds) {
    const own: number[] = [];
    for (let round = 0; round < 5; round += 1)
      for (const id of ids) {
        const began = performance.now();
        read(id);
        own.push(performance.now() - began);
      }
    const written: string[] = [];
    let last = Number.NaN;
    for (const connections of [1, 100]) {
      const { times, refused } = await reading(home, connections, ids.map(pathOf));
      last = median(times);
      written.push(`${connections}: ${shown(times)}${refused === 0 ? '' : `, ${refused} REFUSED`}`);
    }
    lines.push({
      what: `${what} over HTTP, connections: p50 and p99`,
      value: `${written.join('; ')}; the reader ${shown(own)}`,
      target: most === null ? '-' : `100: p50 ≤ ${most} ms`,
      met: most === null || last <= most,
    });
  }
  return lines;
}

const shown = (times: readonly number[]) => `${median(times).toFixed(2)} and ${quantile(times, 0.99).toFixed(2)} ms`;

async function reading({ cwd }: Home, connections: number, paths: readonly string[]): Promise<Read> {
  const socket = join(cwd, 'storefront.sock');
  using program = await startProgramHere<Read>('http-reader.ts', socket, connections, roundMs, ...paths);
  return program.first;
}

async function besideSlow(home: Home, service: Service, port: number): Promise<Line[]> {
  const path = await callbackPath(service);
  const bodies = questions(home);
  const [before, checksBefore] = [await load(port, path, 10, roundMs), await checked(home, bodies)];
  const socket = join(home.cwd, 'storefront.sock');
  using _ = await startProgramHere('http-reader.ts', socket, slow, 0, '/v1/products?limit=50');
  const [beside, checksBeside] = [await load(port, path, 10, roundMs), await checked(home, bodies)];
  const line = (what: string, alone: readonly number[], loaded: readonly number[]): Line => {
    const [p99, own] = [quantile(loaded, 0.99), quantile(alone, 0.99)];
    return {
      what: `${what} beside ${slow} readers over HTTP that stop reading: p99`,
      value: `${p99.toFixed(1)} ms, without them ${own.toFixed(1)} ms`,
      target: '≤ 50 ms more',
      met: p99 - own <= 50,
    };
  };
  return [line('a delivery', before.times, beside.times), line('a check', checksBefore, checksBeside)];
}

/** Milliseconds of each check of 20 shoppers, who ask ten times. */
async function checked({ cwd }: Home, bodies: readonly string[]): Promise<number[]> {
  using shoppers = await startProgramHere('shoppers.ts', join(cwd, 'state', 'admin.sock'), 20);
  const times: number[] = [];
  for (let round = 0; round < 10; round += 1) times.push(...(await asked<{ times: number[] }>(shoppers, bodies)).times);
  return times;
}

function questions({ mirror }: Home): string[] {
  const db = new Database(mirror, { readonly: true });
  const sql = 'SELECT product_id, date FROM bookable_days WHERE date = ? LIMIT 20';
  const rows = db.prepare(sql).all(inDays(8));
  db.close();
  return rows.map((row) => JSON.stringify(row));
}
