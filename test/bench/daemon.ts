import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { asTheUnit } from '../fakes/as-the-unit.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median } from './line.ts';
import { processorMs, residentMiB, said } from './process.ts';

/*
 * What the built daemon costs on the machine: memory and the WAL while everything is read as fast as both can, then a
 * start, memory, processor time and the event loop at a partner's rate. `npm run bench -- daemon --products 7500`
 */

const starts = 5;
const steadyMs = 20_000;
const looksEveryMs = 100;

interface Setting {
  readonly cli: string;
  readonly cwd: string;
  readonly fast: string;
  readonly usual: string;
}

export async function daemonLines(args: readonly string[]): Promise<Line[]> {
  const { values } = parseArgs({ args: [...args], options: { products: { type: 'string', default: '1500' } } });
  const cli = join(builtCommit(undefined), 'dist/cli.js');
  using directory = temporaryDirectory();
  const cwd = directory.path;
  const port = await freePort();
  const service = ['sandbox', '--products', values.products, '--port', String(port), '--hold', '0s'];
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
    return [...(await filling(setting)), ...(await running(setting))].map((line) => ({
      ...line,
      what: `${line.what}, ${values.products} products`,
    }));
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
