import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/clock.ts';
import type { DaemonStatus } from '../../src/status/daemon-status.ts';
import { freePort } from '../fakes/free-port.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** How a daemon fared while its files could not be written. */
export interface Endured {
  /** Null: it did not end. */
  readonly ended: number | string | null;
  /** What its status said of it; null: nothing. */
  readonly said: string | null;
  readonly alarms: readonly string[];
  readonly ready: boolean;
  /** Deliveries posted meanwhile: stored, answered 503; and of those stored, not there afterwards. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly lost: number;
  /** Checks asked meanwhile, and those that the service's answer decided. */
  readonly checks: number;
  readonly decided: number;
  /** Of the event loop, by its own monitor, meanwhile: milliseconds. */
  readonly loop_p99_ms: number;
  readonly loop_max_ms: number;
  /** The same for five seconds before, when nothing was wrong. */
  readonly calm_p99_ms: number;
  /** Whether everything was read and nothing waited, within a minute afterwards. */
  readonly recovered: boolean;
}

export interface Trouble {
  readonly products: number;
  /** A file system of its own, of so many MiB. */
  readonly megabytes?: number;
  readonly child?: 'daemon' | 'blocking';
  /** Whether trouble begins in the first fill, or when everything is filled. */
  readonly when: 'filling' | 'filled';
  begin(place: Place): Promise<void>;
  readonly lasts_ms: number;
  end(place: Place): Promise<void>;
}

export interface Place {
  readonly path: string;
  /** Runs a program where the daemon sees its own file system. */
  inside(...command: readonly string[]): void;
}

const token = 'a-token-for-one-test';

export async function endure({
  products,
  megabytes,
  child: which = 'daemon',
  when,
  begin,
  lasts_ms,
  end,
}: Trouble): Promise<Endured> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'disk');
  mkdirSync(path);
  // What the service announces by itself would be counted as ours.
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products, hold_ms: 86_400_000 });
  const [admin, receiver] = [await freePort(), await freePort()];
  const config = join(directory.path, 'catalogued.yaml');
  writeFileSync(
    config,
    testConfigText(path, sandbox.url, {
      admin: { listen: `127.0.0.1:${admin}` },
      signing: { body: 'json' },
      receiver: { listen: `127.0.0.1:${receiver}`, public_url: `http://127.0.0.1:${receiver}/hooks` },
      subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      budget: { requests_per_second: 150, concurrency: 4 },
    }),
    { mode: 0o600 },
  );
  const program =
    which === 'daemon'
      ? [fileURLToPath(new URL('../../src/cli.ts', import.meta.url)), '--config', config, 'run']
      : [fileURLToPath(new URL('blocking-daemon.ts', import.meta.url)), config];
  const mount = `mount -t tmpfs -o size=${megabytes}m none ${path} && exec "$0" "$@"`;
  const under = megabytes === undefined ? [] : ['unshare', '-Urm', 'sh', '-c', mount];
  const [command = '', ...args] = [...under, process.execPath, ...program];
  const daemon = spawn(command, args, {
    env: { PATH: process.env.PATH ?? '', CATALOGUED_ADMIN_TOKEN: token, CATALOGUED_RECEIVER_SECRET: 's'.repeat(48) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = endOf(daemon);
  try {
    await said(daemon, '"daemon started"');
    const place: Place = { path, inside: (...inner) => void inNamespaceOf(daemon, megabytes !== undefined, inner) };
    const ask = (route: string, body?: unknown) => call(admin, route, body);
    const status = async () => (await ask('/v1/status')).body as DaemonStatus;
    /** Of the event loop since the last look: milliseconds. */
    const loop = async () => {
      const metrics = String((await ask('/metrics')).body);
      const lag = (what: string) =>
        1000 * Number(new RegExp(`^nodejs_eventloop_lag_${what}_seconds (.*)$`, 'm').exec(metrics)?.[1]);
      return { p99: lag('p99'), max: lag('max') };
    };
    const calm = ({ filled_at, storage, inbox }: DaemonStatus) =>
      filled_at !== null && storage.trouble === null && inbox.waiting === 0;
    // The list at least was read, which is what is subscribed to.
    await until(async () => (await status()).products.visible > 0);
    if (when === 'filled') await until(async () => calm(await status()));
    await ask('/v1/subscriptions/apply', { dry_run: false });
    const [{ callback_url = '' } = {}] = sandbox.subscriptions();
    const [product_id] = sandbox.world.visible().map(({ id }) => id);
    const date = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
    let posted = 0;
    /** Deliveries, checks, and now and then something that has to be stored: it is refused, or done later. */
    const visit = async (ms: number) => {
      const counts = { acknowledged: 0, refused: 0, checks: 0, decided: 0 };
      let named: DaemonStatus | null = null;
      let ready = true;
      const end_at = performance.now() + ms;
      await loop();
      for (let n = 0; performance.now() < end_at && daemon.exitCode === null; n += 1) {
        posted += 1;
        const body = JSON.stringify({ posted, padding: 'x'.repeat(2000) });
        const answer = await fetch(callback_url, { method: 'POST', body });
        counts[answer.status === 200 ? 'acknowledged' : 'refused'] += 1;
        const { verdict } = (await ask('/v1/check', { product_id, date })).body as { verdict?: string };
        if (verdict !== undefined) counts.checks += 1;
        if (verdict !== undefined && verdict !== 'unknown') counts.decided += 1;
        if (n % 10 === 0) void ask('/v1/resync', { resources: ['checkout_information'] }).catch(() => undefined);
        const now = await status();
        ready &&= (await ask('/readyz')).status === 200 || now.filled_at === null;
        if (now.storage.trouble !== null) named = now;
        await setTimeout(100);
      }
      return { ...counts, named, ready, ...(await loop()) };
    };
    // As it is when nothing is wrong: other programs run on this machine too.
    const before = await visit(5000);
    const known = (await status()).inbox.received;
    await begin(place);
    const { named, ready, p99, max, ...counts } = await visit(lasts_ms);
    await end(place);
    const recovered = await until(async () => calm(await status()), 60_000);
    const { received } = (await status()).inbox;
    const trouble = named?.storage.trouble ?? null;
    return {
      ended: daemon.exitCode ?? daemon.signalCode,
      said:
        trouble === null ? null : `${trouble.kind} of the ${trouble.file}, ${trouble.missing_bytes ?? 0} bytes missing`,
      alarms: (named?.alarms ?? []).map(({ kind }) => kind),
      ready,
      ...counts,
      lost: Math.max(0, counts.acknowledged - (received - known)),
      loop_p99_ms: p99,
      loop_max_ms: max,
      calm_p99_ms: before.p99,
      recovered,
    };
  } finally {
    if (daemon.exitCode === null && daemon.signalCode === null) daemon.kill('SIGTERM');
    await ended;
  }
}

/** Another program that begins to write a file and does not end. */
export function foreignLock(name: 'mirror/mirror.db' | 'state/inbox.db'): Pick<Trouble, 'begin' | 'end'> {
  let db: Database.Database | null = null;
  return {
    begin: async ({ path }) => {
      db = new Database(join(path, name), { timeout: 5000 });
      db.exec('BEGIN IMMEDIATE');
    },
    end: async () => void db?.close(),
  };
}

/** A start while another program writes: how it ended, and what it said first. */
export async function startLocked(): Promise<{ code: number | string | null; said: string }> {
  using directory = temporaryDirectory();
  const { path } = directory;
  await using sandbox = await startSandbox({ clock: systemClock, seed: 1, products: 2 });
  const config = join(path, 'catalogued.yaml');
  writeFileSync(config, testConfigText(path, sandbox.url), { mode: 0o600 });
  const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
  const start = () => spawn(process.execPath, [cli, '--config', config, 'run'], { stdio: ['ignore', 'pipe', 'pipe'] });
  const first = start();
  await said(first, '"daemon started"');
  first.kill('SIGTERM');
  await endOf(first);
  const lock = foreignLock('mirror/mirror.db');
  const place = { path, inside: () => undefined };
  await lock.begin(place);
  const second = start();
  let words = '';
  second.stderr?.on('data', (chunk: Buffer) => {
    words += chunk.toString();
  });
  const code = await endOf(second);
  await lock.end(place);
  return { code, said: words.split('\n')[0] ?? '' };
}

function endOf(child: ChildProcess): Promise<number | string | null> {
  const { promise, resolve } = Promise.withResolvers<number | string | null>();
  child.on('close', (code, signal) => resolve(code ?? signal));
  return promise;
}

async function said({ stdout }: ChildProcess, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let all = '';
  stdout?.on('data', (chunk: Buffer) => {
    all += chunk.toString();
    if (all.includes(text)) resolve();
  });
  stdout?.on('end', () => reject(new Error(`it ended without saying ${text}: ${all}`)));
  return promise;
}

function inNamespaceOf({ pid }: ChildProcess, own: boolean, command: readonly string[]): void {
  const enter = own ? ['nsenter', '-t', String(pid), '-U', '-m', '--preserve-credentials'] : [];
  const [program = '', ...args] = [...enter, ...command];
  // What fills a disk ends with an error.
  try {
    execFileSync(program, args, { stdio: 'ignore' });
  } catch {
    return;
  }
}

async function call(port: number, route: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`http://127.0.0.1:${port}${route}`, {
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

/** False: not within the time. */
async function until(condition: () => Promise<boolean>, ms = 120_000): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) return false;
    await setTimeout(100);
  }
  return true;
}
