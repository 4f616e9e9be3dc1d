import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { createLog } from '../../src/kernel/log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { testReceiver } from '../receiver/test-receiver.ts';
import { type Line, median, most, quantile } from './measure.ts';
import { load } from './stage.ts';

/*
 * Durable acknowledgements beside what they are made of: a durable insert of the same body, and HTTP without a store.
 */

interface Load {
  /** Answers a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

const roundMs = 1500;
const rounds = 3;
const connections = [1, 100] as const;

async function loaded(port: number, path: string, connections: number): Promise<Load> {
  const { times, ms } = await load(port, path, connections, roundMs);
  return { rate: (1000 * times.length) / ms, p50: median(times), p99: quantile(times, 0.99), max: most(times) };
}

/** Rows a second, each in a durable commit of its own. */
function bareInserts(): number {
  using directory = temporaryDirectory();
  const db = new Database(join(directory.path, 'bare.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE delivery (delivery_id INTEGER PRIMARY KEY, received_at INTEGER, body BLOB) STRICT');
  const insert = db.prepare('INSERT INTO delivery (received_at, body) VALUES (?, ?)');
  const body = Buffer.alloc(2200, 'x');
  const started = performance.now();
  let rows = 0;
  while (performance.now() < started + roundMs) {
    insert.run(rows, body);
    rows += 1;
  }
  const rate = (1000 * rows) / (performance.now() - started);
  db.close();
  return rate;
}

/** Node's own server, which reads the body and answers. */
async function bareHttp(count: number): Promise<Load> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-length': '0' }).end());
  });
  server.maxRequestsPerSocket = 100;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const result = await loaded((server.address() as AddressInfo).port, '/', count);
  server.closeAllConnections();
  server.close();
  return result;
}

async function receiver(count: number): Promise<Load> {
  await using test = await testReceiver({ log: createLog('info', { write: () => undefined }) });
  return await loaded(test.port, test.path, count);
}

interface Round {
  /** Rows a second. */
  readonly insert: number;
  readonly http: Load;
  readonly own: Load;
}

/** Rounds of all three close together: the neighbours of a machine change, and ratios are taken within a round. */
export async function receiverLines(): Promise<Line[]> {
  const lines: Line[] = [];
  for (const count of connections) {
    const all: Round[] = [];
    for (let round = 0; round < rounds; round += 1)
      all.push({ insert: bareInserts(), http: await bareHttp(count), own: await receiver(count) });
    lines.push(lineOf(count, all));
  }
  return lines;
}

function lineOf(count: (typeof connections)[number], all: readonly Round[]): Line {
  const middle = (of: (round: Round) => number) => median(all.map(of));
  const rates = [
    `${middle(({ own }) => own.rate).toFixed(0)}/s`,
    `bare insert ${middle(({ insert }) => insert).toFixed(0)}/s`,
    `bare node:http ${middle(({ http }) => http.rate).toFixed(0)}/s`,
  ];
  const p99 = middle(({ own }) => own.p99);
  const times = `p50 ${middle(({ own }) => own.p50).toFixed(1)}, p99 ${p99.toFixed(1)}, max ${most(all.map(({ own }) => own.max)).toFixed(0)} ms`;
  const what = `durable acknowledgements over ${count} connection${count === 1 ? '' : 's'}`;
  if (count === 1) {
    const ratio = middle(({ own, http, insert }) => 1 / own.rate / (1 / http.rate + 1 / insert));
    const value = `${ratio.toFixed(2)} × the time of both (${rates.join(', ')}; ${times})`;
    return { what, value, target: '≤ 1.5 ×', met: ratio <= 1.5 };
  }
  const ratio = middle(({ own, insert }) => own.rate / insert);
  const value = `${ratio.toFixed(2)} × the bare insert (${rates.join(', ')}; ${times})`;
  return { what, value, target: '≥ 3.5 ×, p99 ≤ 50 ms', met: ratio >= 3.5 && p99 <= 50 };
}
