import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { asTheUnit } from '../fakes/as-the-unit.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median } from './line.ts';
import { optionsOf } from './options.ts';
import { processorMs, residentMiB, said } from './process.ts';

/*
 * What the built daemon costs on the machine: memory and the WAL while everything is read as fast as both can, then a
 * start, memory, processor time and the event loop at a partner's rate, and a start with a hundred thousand products. `npm run bench -- daemon --products 7500`
 */

const starts = 5;
const steadyMs = 20_000;
const manyProducts = 100_000;
const looksEveryMs = 100;

interface Setting {
  readonly cli: string;
  readonly cwd: string;
  readonly fast: string;
  readonly usual: string;
}

export async function daemonLines(args: readonly string[]): Promise<Line[]> {
  const { products } = optionsOf('daemon', args, { products: 1500 });
  const cli = join(builtCommit(undefined), 'dist/cli.js');
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const port = await freePort();
  const service = ['sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'];
  const sandbox = spawn(process.execPath, [cli, ...service], { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  await said(sandbox.stdout, 'The sandbox serves');
  const configOf = (name: string, requests_per_second: number) => {
    const config = join(cwd, `${name}.yaml`);
    const budget = { requests_per_second, concurrency: 4 };
    writeFileSync(config, testConfigText(cwd, `http://127.0.0.1:${port}`, { budget }));
    return config;
  };
  const setting = { cli, cwd, fast: configOf('fast', 100_000), usual: configOf('usual', 15) };
  try {
    const lines = [...(await filling(setting)), ...(await running(setting))];
    return [
      ...lines.map((line) => ({ ...line, what: `${line.what}, ${products} products` })),
      ...(await large(setting)),
    ];
  } finally {
    sandbox.kill('SIGTERM');
  }
}

/** A first fill and a resync of everything: the WAL at its largest. */
async function filling({ cli, cwd, fast }: Setting): Promise<Line[]> {
  const daemon = started(cli, fast, cwd);
  const wal = { fill: 0, resync: 0 };
  await watched(said(daemon.stdout, 'pass ended'), () => {
    wal.fill = Math.max(wal.fill, walMiB(cwd));
  });
  const resync = spawn(process.execPath, [cli, '--config', fast, 'resync', '--all', '--wait'], { stdio: 'ignore' });
  await watched(once(resync, 'exit'), () => {
    wal.resync = Math.max(wal.resync, walMiB(cwd));
  });
  await ended(daemon);
  const most = Math.max(wal.fill, wal.resync);
  return [
    {
      what: 'the WAL at its largest, as fast as both can: fill; resync of everything',
      value: `${wal.fill.toFixed(1)} MiB; ${wal.resync.toFixed(1)} MiB`,
      target: '≤ 64 MiB',
      met: most > 0 && most <= 64,
    },
  ];
}

async function running({ cli, cwd, usual }: Setting): Promise<Line[]> {
  const ready: number[] = [];
  for (let time = 0; time <= starts; time += 1) {
    const began = performance.now();
    const daemon = started(cli, usual, cwd);
    await said(daemon.stdout, 'daemon started');
    // The first one fills the cache of compiled code.
    if (time > 0) ready.push(performance.now() - began);
    await ended(daemon);
  }
  const daemon = started(cli, usual, cwd);
  try {
    await said(daemon.stdout, 'daemon started');
    return [startLine(ready), ...(await steady({ cli, cwd, usual }, daemon))];
  } finally {
    await ended(daemon);
  }
}

/** The same mirror with many more products, none of whose reads is due: what a start and memory come to. */
async function large({ cli, cwd, usual }: Setting): Promise<Line[]> {
  const db = new Database(join(cwd, 'mirror', 'mirror.db'));
  const now = Date.now();
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${manyProducts})
      INSERT INTO _product (product_id, sale_status, first_seen_at, read_at, timezone, city_id)
      SELECT 100000000 + i, 'enabled', 0, ${now}, 'Europe/Amsterdam', i % 500 FROM n;
    INSERT INTO _product_text (product_id, language, title, checked_at, changed_at, stale_at, list_document, list_read_at)
      SELECT product_id, 'en', 'A place ' || product_id, ${now}, ${now}, ${now + 86_400_000},
        json_object('id', product_id, 'tagline', printf('%.300c', 'y')), ${now}
      FROM _product WHERE product_id > 100000000;
    INSERT INTO _record (resource, product_id, edition, part, due_at, due_reason, lane, fetched_at)
      SELECT k.resource, p.product_id, k.edition, k.part, ${now + 86_400_000}, 'cadence-elapsed', k.lane, ${now}
      FROM (SELECT resource, edition, part, max(lane) AS lane FROM _record WHERE product_id > 0 GROUP BY 1, 2, 3) k
      CROSS JOIN _product p WHERE p.product_id > 100000000;`);
  db.close();
  const ready: number[] = [];
  let memory = 0;
  for (let time = 0; time <= 3; time += 1) {
    const began = performance.now();
    const daemon = started(cli, usual, cwd);
    await said(daemon.stdout, 'daemon started');
    if (time > 0) ready.push(performance.now() - began);
    if (time === 3) await setTimeout(steadyMs / 2);
    memory = residentMiB(daemon.pid ?? 0);
    await ended(daemon);
  }
  const middle = median(ready);
  const products = `${manyProducts.toLocaleString('en-US')} products`;
  return [
    { what: `start to ready, ${products}`, value: `${middle.toFixed(0)} ms`, target: '< 2 s', met: middle < 2000 },
    { what: `resident memory, ${products}`, value: `${memory.toFixed(0)} MiB`, target: '< 400 MiB', met: memory < 400 },
  ];
}

function startLine(ready: readonly number[]): Line {
  const middle = median(ready);
  return { what: 'start to ready', value: `${middle.toFixed(0)} ms`, target: '< 500 ms', met: middle < 500 };
}

/** Reads everything again at a partner's rate, for a while. */
async function steady({ cli, cwd, usual }: Omit<Setting, 'fast'>, daemon: Started): Promise<Line[]> {
  const pid = daemon.pid ?? 0;
  spawnSync(process.execPath, [cli, '--config', usual, 'resync', '--all'], { stdio: 'ignore' });
  await setTimeout(steadyMs / 4);
  await metrics(cwd);
  const before = { cpu: processorMs(pid, 'own'), at: performance.now(), calls: callsIn(await metrics(cwd)) };
  await setTimeout(steadyMs);
  const after = { cpu: processorMs(pid, 'own'), at: performance.now(), text: await metrics(cwd) };
  const share = (100 * (after.cpu - before.cpu)) / (after.at - before.at);
  const rate = (1000 * (callsIn(after.text) - before.calls)) / (after.at - before.at);
  const late = 1000 * Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(after.text)?.[1]);
  const memory = residentMiB(pid);
  const asking: number[] = [];
  for (let time = 0; time < starts; time += 1) {
    const began = performance.now();
    spawnSync(process.execPath, [cli, '--config', usual, 'status'], { stdio: 'ignore' });
    asking.push(performance.now() - began);
  }
  const status = median(asking);
  const at = `at ${rate.toFixed(1)} calls a second`;
  return [
    { what: `processor time, of one core, ${at}`, value: `${share.toFixed(1)} %`, target: '< 10 %', met: share < 10 },
    { what: `resident memory ${at}`, value: `${memory.toFixed(0)} MiB`, target: '< 150 MiB', met: memory < 150 },
    { what: `event loop late, p99, ${at}`, value: `${late.toFixed(1)} ms`, target: '< 20 ms', met: late < 20 },
    { what: '`catalogued status`', value: `${status.toFixed(0)} ms`, target: '< 300 ms', met: status < 300 },
  ];
}

type Started = ChildProcess & { readonly stdout: NodeJS.ReadableStream };

function started(cli: string, config: string, cwd: string): Started {
  const child = spawn(process.execPath, [...asTheUnit, cli, '--config', config, 'run'], {
    cwd,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return child as unknown as Started;
}

async function ended(daemon: ChildProcess): Promise<void> {
  const exit = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await exit;
}

/** Looks again and again until the work is done. */
async function watched(work: Promise<unknown>, look: () => void): Promise<void> {
  const timer = setInterval(look, looksEveryMs);
  await work.finally(() => clearInterval(timer));
  look();
}

function walMiB(cwd: string): number {
  const wal = join(cwd, 'mirror', 'mirror.db-wal');
  return existsSync(wal) ? statSync(wal).size / 1024 / 1024 : 0;
}

async function metrics(cwd: string): Promise<string> {
  const asked = request({ socketPath: join(cwd, 'state', 'admin.sock'), path: '/metrics' }).end();
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
  return text(answer);
}

function callsIn(exposition: string): number {
  const all = [...exposition.matchAll(/^catalogued_calls_total\{[^}]*\} (\d+)/gm)];
  if (all.length === 0) throw new Error('/metrics names no calls');
  return all.reduce((sum, [, calls]) => sum + Number(calls), 0);
}
