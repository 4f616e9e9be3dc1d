import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { DaemonStatus } from '../../src/says/status/daemon-status.ts';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { startCli, startProgram } from '../fakes/run-cli.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText, writeTestConfig } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import type { Outcome } from './run.ts';
import { type Tmpfs, tmpfs } from './tmpfs.ts';

/** How a daemon fared while its files could not be written. */
export interface Endured {
  /** Null: it did not end. */
  readonly ended: number | string | null;
  /** What its status said of it; null: nothing. */
  readonly said: string | null;
  readonly conditions: readonly string[];
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
  readonly fault: DiskFault;
  readonly lasts_ms: number;
}

interface DiskFault {
  begin(place: Place): Promise<void>;
  end(place: Place): Promise<void>;
}

interface Place {
  readonly path: string;
  /** Runs a program where the daemon sees its own file system. What fills a disk ends with an error. */
  inside(...command: readonly string[]): void;
}

const token = 'a-token-for-one-test';

/** A busy machine sends on a kept connection as it is being closed. */
const alone = { connection: 'close' };

/** Runs a daemon with a fault under it while deliveries and checks come. */
export async function endure({
  products,
  megabytes,
  child = 'daemon',
  when,
  fault,
  lasts_ms,
}: Trouble): Promise<Endured> {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'disk');
  mkdirSync(path);
  // What the service announces by itself would be counted as ours.
  await using sandbox = await startSandbox({ products, hold_ms: 86_400_000 });
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
    child === 'daemon' ? [cli, '--config', config, 'run'] : [join(import.meta.dirname, 'blocking-daemon.ts'), config];
  const own: Tmpfs = megabytes === undefined ? { under: [], inside: () => false } : tmpfs(path, megabytes);
  await using daemon = startProgram([...own.under, process.execPath, ...program], {
    env: { PATH: process.env.PATH, CATALOGUED_ADMIN_TOKEN: token, CATALOGUED_RECEIVER_SECRET: 's'.repeat(48) },
  });
  await daemon.said('"daemon started"');
  const place: Place = { path, inside: (...command) => void own.inside(daemon.child.pid, ...command) };
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
    for (let n = 0; performance.now() < end_at && daemon.child.exitCode === null; n += 1) {
      posted += 1;
      const body = JSON.stringify({ posted, padding: 'x'.repeat(2000) });
      const answer = await fetch(callback_url, { method: 'POST', body, headers: alone });
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
  await fault.begin(place);
  const { named, ready, p99, max, ...counts } = await visit(lasts_ms);
  await fault.end(place);
  const recovered = await until(async () => calm(await status()), 60_000);
  const { received } = (await status()).inbox;
  const trouble = named?.storage.trouble ?? null;
  return {
    ended: daemon.child.exitCode ?? daemon.child.signalCode,
    said:
      trouble === null ? null : `${trouble.kind} of the ${trouble.file}, ${trouble.missing_bytes ?? 0} bytes missing`,
    conditions: (named?.conditions ?? []).map(({ code }) => code),
    ready,
    ...counts,
    lost: Math.max(0, counts.acknowledged - (received - known)),
    loop_p99_ms: p99,
    loop_max_ms: max,
    calm_p99_ms: before.p99,
    recovered,
  };
}

/** A daemon that waits inside a statement has its loop late by 250 to 490 ms at the 99th percentile; beside the suite one that does not has had 25. */
export const blockedMs = 60;
const mostLateMs = 200;

/** Runs a daemon with a fault under it, which it has to survive, name and recover from. */
export async function endured(trouble: Trouble): Promise<Outcome> {
  const result = await endure(trouble);
  const { ended, said, conditions, ready, acknowledged, refused, lost, checks, decided, recovered } = result;
  const named = said !== null || conditions.length > 0;
  // A second has too few looks for a percentile; a machine that is busy with others has a slow loop anyway, and a busier one
  // a moment later: up to less than what a daemon has that waits.
  const brief = trouble.lasts_ms === 1000;
  const quick = result.loop_p99_ms < Math.max(blockedMs, Math.min(2.5 * result.calm_p99_ms, mostLateMs));
  const told = trouble.lasts_ms < 70_000 || conditions.includes('file-locked');
  return {
    passed: ended === null && named && told && ready && lost === 0 && recovered && (brief || quick),
    numbers: `${ended === null ? 'goes on' : `ended with ${ended}`}, said ${said ?? 'nothing'} (conditions: ${conditions.join(', ') || 'none'}), ready ${ready}; ${acknowledged} deliveries stored, ${refused} answered 503, ${lost} lost; ${decided} of ${checks} checks decided; event loop p99 ${result.loop_p99_ms.toFixed(1)} ms (${result.calm_p99_ms.toFixed(1)} before), at most ${result.loop_max_ms.toFixed(0)} ms; ${recovered ? 'recovered' : 'NOT recovered'}`,
  };
}

/** Another program that begins to write a file and does not end. */
export function foreignLock(name: 'mirror/mirror.db' | 'state/inbox.db'): DiskFault {
  let db: Database.Database | null = null;
  return {
    begin: async ({ path }) => {
      db = new Database(join(path, name), { timeout: 5000 });
      db.exec('BEGIN IMMEDIATE');
    },
    end: async () => void db?.close(),
  };
}

/** A disk that is too small, until it grows to so many megabytes. */
export function grows(megabytes: number): DiskFault {
  return {
    begin: async () => undefined,
    end: async ({ path, inside }) => inside('mount', '-o', `remount,size=${megabytes}m`, path),
  };
}

/** A file that takes all that is left. */
export const filler: DiskFault = {
  begin: async ({ path, inside }) => {
    inside('dd', 'if=/dev/zero', `of=${path}/filler`, 'bs=16k');
    // The daemon helps itself by cutting its log: that room goes too.
    for (let times = 0; times < 5; times += 1) {
      await setTimeout(1000);
      inside('dd', 'if=/dev/zero', `of=${path}/filler${times}`, 'bs=4k');
    }
  },
  end: async ({ path, inside }) => inside('sh', '-c', `rm ${path}/filler*`),
};

/** Starts a daemon while another program writes its mirror. */
export async function startLocked(): Promise<Outcome> {
  using directory = temporaryDirectory();
  const { path } = directory;
  await using sandbox = await startSandbox({ products: 2 });
  const config = writeTestConfig(path, sandbox.url);
  const start = () => startCli(['--config', config, 'run'], { cwd: path });
  const first = start();
  await first.said('"daemon started"');
  await first.end();
  const lock = foreignLock('mirror/mirror.db');
  await lock.begin({ path, inside: () => undefined });
  const { code, stderr } = await start().ended;
  await lock.end({ path, inside: () => undefined });
  const [said = ''] = stderr.split('\n');
  return { passed: code === 75 && said.includes('another program is writing'), numbers: `${code}: ${said}` };
}

async function call(port: number, route: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`http://127.0.0.1:${port}${route}`, {
    headers: {
      ...alone,
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

/** Waits for a condition; false: it did not hold within the time. */
export async function until(condition: () => Promise<boolean>, ms = 120_000): Promise<boolean> {
  const end = performance.now() + ms;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) return false;
    await setTimeout(100);
  }
  return true;
}
