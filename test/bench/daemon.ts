import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { RunningCli } from '../fakes/run-cli.ts';
import { count, type Line, median, optionsOf } from './measure.ts';
import { processorMs, residentMiB } from './process.ts';
import { Home, startService } from './stage.ts';

/*
 * What the built daemon costs on the machine: memory and the WAL while everything is read as fast as both can, then a
 * start, memory, processor time and the event loop at a partner's rate, and a start with a hundred thousand products. `npm run bench -- daemon --products 7500`
 */

const starts = 5;
const steadyMs = 20_000;
const manyProducts = 100_000;
const looksEveryMs = 100;

interface Setting {
  readonly home: Home;
  readonly fast: string;
  readonly usual: string;
}

export async function daemonLines(args: readonly string[]): Promise<Line[]> {
  const { products } = optionsOf('daemon', args, { products: 1500 });
  await using service = await startService(products);
  using home = new Home();
  const setting = { home, fast: home.config(service.url, 100_000), usual: home.config(service.url, 15) };
  const lines = [await filling(setting), ...(await running(setting))];
  return [...lines.map((line) => ({ ...line, what: `${line.what}, ${products} products` })), ...(await large(setting))];
}

/** A first fill and a resync of everything: the WAL at its largest. */
async function filling({ home, fast }: Setting): Promise<Line> {
  const wal = { fill: 0, resync: 0 };
  const starting = home.run(fast, 'pass ended');
  await watched(starting, () => {
    wal.fill = Math.max(wal.fill, walMiB(home));
  });
  await using _ = await starting;
  await watched(home.command(fast, 'resync', '--all', '--wait'), () => {
    wal.resync = Math.max(wal.resync, walMiB(home));
  });
  const most = Math.max(wal.fill, wal.resync);
  return {
    what: 'the WAL at its largest, as fast as both can: fill; resync of everything',
    value: `${wal.fill.toFixed(1)} MiB; ${wal.resync.toFixed(1)} MiB`,
    target: '≤ 64 MiB',
    met: most > 0 && most <= 64,
  };
}

/** Milliseconds until a daemon is ready, of several starts; the first one fills the cache of compiled code. */
async function starting({ home, usual }: Setting, starts: number): Promise<number> {
  const ready: number[] = [];
  for (let time = 0; time <= starts; time += 1) {
    const began = performance.now();
    await using _ = await home.run(usual, 'daemon started');
    if (time > 0) ready.push(performance.now() - began);
  }
  return median(ready);
}

async function running(setting: Setting): Promise<Line[]> {
  const ms = await starting(setting, starts);
  const start = { what: 'start to ready', value: `${ms.toFixed(0)} ms`, target: '< 500 ms', met: ms < 500 };
  await using daemon = await setting.home.run(setting.usual, 'daemon started');
  return [start, ...(await steady(setting, daemon))];
}

/** The same mirror with many more products, none of whose reads is due: what a start and memory come to. */
async function large(setting: Setting): Promise<Line[]> {
  const { home, usual } = setting;
  const db = new Database(home.mirror);
  const now = Date.now();
  db.exec(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${manyProducts})
      INSERT INTO _product (product_id, sale_status, first_seen_at, timezone, city_id)
      SELECT 100000000 + i, 'enabled', 0, 'Europe/Amsterdam', i % 500 FROM n;
    INSERT INTO _product_read (product_id, read_at) SELECT product_id, ${now} FROM _product WHERE product_id > 100000000;
    INSERT INTO _product_text (product_id, language, title, changed_at, list_document)
      SELECT product_id, 'en', 'A place ' || product_id, ${now}, json_object('id', product_id, 'tagline', printf('%.300c', 'y'))
      FROM _product WHERE product_id > 100000000;
    INSERT INTO _text_read (product_id, language, checked_at, stale_at, list_read_at)
      SELECT product_id, 'en', ${now}, ${now + 86_400_000}, ${now} FROM _product WHERE product_id > 100000000;
    INSERT INTO _record (resource, product_id, edition, part, due_at, due_reason, lane, fetched_at)
      SELECT k.resource, p.product_id, k.edition, k.part, ${now + 86_400_000}, 'cadence-elapsed', k.lane, ${now}
      FROM (SELECT resource, edition, part, max(lane) AS lane FROM _record WHERE product_id > 0 GROUP BY 1, 2, 3) k
      CROSS JOIN _product p WHERE p.product_id > 100000000;`);
  db.close();
  const ms = await starting(setting, 3);
  await using daemon = await home.run(usual, 'daemon started');
  await setTimeout(steadyMs / 2);
  const memory = residentMiB(daemon.child.pid ?? 0);
  const products = `${count(manyProducts)} products`;
  return [
    { what: `start to ready, ${products}`, value: `${ms.toFixed(0)} ms`, target: '< 2 s', met: ms < 2000 },
    { what: `resident memory, ${products}`, value: `${memory.toFixed(0)} MiB`, target: '< 400 MiB', met: memory < 400 },
  ];
}

/** Reads everything again at a partner's rate, for a while. */
async function steady({ home, usual }: Setting, daemon: RunningCli): Promise<Line[]> {
  const pid = daemon.child.pid ?? 0;
  await home.command(usual, 'resync', '--all');
  await setTimeout(steadyMs / 4);
  await metrics(home);
  const before = { cpu: processorMs(pid, 'own'), at: performance.now(), calls: callsIn(await metrics(home)) };
  await setTimeout(steadyMs);
  const after = { cpu: processorMs(pid, 'own'), at: performance.now(), text: await metrics(home) };
  const share = (100 * (after.cpu - before.cpu)) / (after.at - before.at);
  const rate = (1000 * (callsIn(after.text) - before.calls)) / (after.at - before.at);
  const late = 1000 * Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(after.text)?.[1]);
  const memory = residentMiB(pid);
  const asking: number[] = [];
  for (let time = 0; time < starts; time += 1) {
    const began = performance.now();
    await home.command(usual, 'status');
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

/** BatchReads again and again until the work is done. */
async function watched(work: Promise<unknown>, look: () => void): Promise<void> {
  const timer = setInterval(look, looksEveryMs);
  await work.finally(() => clearInterval(timer));
  look();
}

function walMiB({ mirror }: Home): number {
  const wal = `${mirror}-wal`;
  return existsSync(wal) ? statSync(wal).size / 1024 / 1024 : 0;
}

async function metrics({ cwd }: Home): Promise<string> {
  const asked = request({ socketPath: join(cwd, 'state', 'admin.sock'), path: '/metrics' }).end();
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream];
  return text(answer);
}

function callsIn(exposition: string): number {
  const all = [...exposition.matchAll(/^catalogued_calls_total\{[^}]*\} (\d+)/gm)];
  if (all.length === 0) throw new Error('/metrics names no calls');
  return all.reduce((sum, [, calls]) => sum + Number(calls), 0);
}
