import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connectPostgres, type Postgres } from '../../src/database/connect.ts';
import { ownTables, publishedTables } from '../../src/mirror/rows/capture.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { type RunningCli, startCli } from '../fakes/run-cli.ts';
import { type StartedPostgres, startPostgres } from '../fakes/start-postgres.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** One call that reached the service: when, by the monotonic clock, and whose it was. */
export interface Call {
  readonly at: number;
  readonly by: string;
}

/** An instance on a host of its own, as far as files and addresses go. */
export interface Instance {
  readonly name: string;
  readonly mirror: string;
  readonly inbox: string;
  readonly admin: string;
  /** Where the service would send to. */
  readonly hooks: string;
  /** Null: it does not run. */
  running: RunningCli | null;
  start(): RunningCli;
  /** Resolves when it stands by with the leader's mirror, or leads with a filled one. */
  ready(): Promise<void>;
  /** Ends the process at once. */
  kill(): Promise<void>;
}

export interface Stage extends AsyncDisposable {
  readonly server: StartedPostgres;
  readonly database: Postgres;
  readonly sandbox: Sandbox;
  readonly calls: Call[];
  readonly instances: readonly [Instance, Instance];
  /** Resolves with whoever leads, once it calls the service. */
  leading(): Promise<Instance>;
  other(instance: Instance): Instance;
  /** Resolves when every instance knows the callback address that the service was told of. */
  addressed(): Promise<void>;
  /** The first call of an instance after an instant. */
  firstCall(by: Instance, after: number): Promise<Call>;
  /** The most calls in any second. */
  mostInASecond(): number;
}

export const ceiling = 10;
const schema = 'catalogued';
const patient = { timeout: 40_000, interval: 20 };

/** A database, a service that says who calls it, and two instances that are not started yet. */
export async function stage(more: Record<string, unknown> = {}): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory()).path;
  const server = stack.use(startPostgres());
  const database = stack.use(await connectPostgres({ url: server.url, schema, connections: 2 }));
  // More to read than a test takes: there is always a next call.
  const sandbox = stack.use(
    await startSandbox({ clock: systemClock, seed: 1, products: 3000, lean: true, hold_ms: 0, counts: 'none' }),
  );
  const calls: Call[] = [];
  const instances: Instance[] = [];
  for (const name of ['a', 'b']) {
    const door = stack.use(await counting(sandbox.url, () => void calls.push({ at: performance.now(), by: name })));
    instances.push(await instanceAt(join(directory, name), { name, service: door.url, server, more }));
  }
  const [a, b] = instances as [Instance, Instance];
  stack.defer(async () => void (await Promise.all(instances.map((each) => each.kill()))));
  const firstCall = async (by: Instance, after: number) => {
    const found = () => calls.find((call) => call.by === by.name && call.at > after);
    await expect.poll(found, patient).toBeDefined();
    return found() as Call;
  };
  const closing = stack.move();
  return {
    server,
    database,
    sandbox,
    calls,
    instances: [a, b],
    other: (instance) => (instance === a ? b : a),
    firstCall,
    addressed: async () => {
      const told = () => database.query<{ told: number }>('SELECT count(*) AS told FROM _callback_epoch');
      await expect.poll(async () => (await told())[0]?.told, patient).toBe(1);
      await setTimeout(1000);
    },
    leading: async () => {
      const leader = async () => {
        const [row] = await database.query<{ name: string; holder: string | null }>('SELECT name, holder FROM _leader');
        return row?.holder == null ? undefined : instances.find(({ name }) => name === row.name);
      };
      const after = performance.now();
      // Whoever leads when it is asked may lead no more a moment later.
      let found: Instance | undefined;
      const calling = async () => {
        found = await leader().catch(() => undefined);
        return calls.some((call) => call.by === found?.name && call.at > after);
      };
      await expect.poll(calling, patient).toBe(true);
      return found as Instance;
    },
    mostInASecond: () =>
      Math.max(...calls.map(({ at }) => calls.filter((call) => call.at >= at && call.at < at + 1000).length)),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

interface InstanceOptions {
  readonly name: string;
  readonly service: string;
  readonly server: StartedPostgres;
  readonly more: Record<string, unknown>;
}

async function instanceAt(directory: string, { name, service, server, more }: InstanceOptions): Promise<Instance> {
  const [hooks, admin] = [await freePort(), await freePort()];
  const { mkdirSync } = await import('node:fs');
  mkdirSync(directory, { recursive: true });
  const config = join(directory, 'catalogued.yaml');
  writeFileSync(
    config,
    testConfigText(directory, service, {
      budget: { requests_per_second: ceiling, concurrency: 4, share: 0, audit: 0 },
      signing: { body: 'json' },
      receiver: { listen: `127.0.0.1:${hooks}`, public_url: `http://127.0.0.1:${hooks}/hooks` },
      subscriptions: [{ id: 'all', type: 'products_i_sell' }],
      admin: { listen: `127.0.0.1:${admin}` },
      database: { schema },
      instance: { name, advertise: `http://127.0.0.1:${admin}` },
      ...more,
    }),
  );
  const env = {
    CATALOGUED_DATABASE_URL: server.url,
    CATALOGUED_RECEIVER_SECRET: canary.master,
    CATALOGUED_ADMIN_TOKEN: canary.admin,
  };
  const own: Instance = {
    name,
    mirror: join(directory, 'mirror', 'mirror.db'),
    inbox: join(directory, 'state', 'inbox.db'),
    admin: `http://127.0.0.1:${admin}`,
    hooks: `http://127.0.0.1:${hooks}/hooks`,
    running: null,
    start: () => {
      const running = startCli(['--config', config, 'run'], { cwd: directory, env });
      own.running = running;
      return running;
    },
    ready: async () => {
      const status = () => fetch(`${own.admin}/readyz`).then(({ status }) => status);
      await expect.poll(() => status().catch(() => 0), patient).toBe(200);
    },
    kill: async () => {
      const { running } = own;
      own.running = null;
      running?.child.kill('SIGCONT');
      running?.child.kill('SIGKILL');
      await running?.ended;
    },
  };
  return own;
}

/** A door to the service that tells of each call as it arrives. */
async function counting(url: string, called: () => void) {
  const server = createServer((incoming, response) => {
    called();
    const target = new URL(incoming.url ?? '/', url);
    const { method, headers } = incoming;
    const outgoing = request(target, { method, headers: { ...headers, host: target.host } }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The last segment of the first callback address. */
function firstToken(): string {
  return createHmac('sha256', canary.master).update('callback:all:1').digest('base64url');
}

/** Deliveries that are posted to both instances in turn, each until it is acknowledged, and what was answered. */
export function posting(instances: readonly Instance[], apart_ms = 5) {
  const acknowledged: number[] = [];
  const answers = new Map<number, number>();
  let going = true;
  let next = 0;
  const work = async (from: number) => {
    for (let turn = from; going; turn += 1) {
      next += 1;
      const n = next;
      const { hooks } = instances[turn % instances.length] as Instance;
      const status = await fetch(`${hooks}/${firstToken()}`, {
        method: 'POST',
        body: JSON.stringify({ n }),
        signal: AbortSignal.timeout(8000),
      }).then(
        (response) => response.status,
        () => 0,
      );
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (status === 200) acknowledged.push(n);
      await setTimeout(apart_ms);
    }
  };
  const working = [0, 1, 2, 3].map(work);
  return {
    acknowledged,
    answers,
    stop: async () => {
      going = false;
      await Promise.all(working);
    },
  };
}

/** Up to which number an instance's mirror has applied deliveries, by itself or by whom it followed, and how many wait. */
export function appliedIn({ mirror, inbox }: Instance): { last: number; waiting: number } {
  const one = (path: string, sql: string) => {
    const db = new Database(path, { readonly: true });
    try {
      return Number(db.prepare(sql).pluck().get());
    } finally {
      db.close();
    }
  };
  return {
    last: one(mirror, 'SELECT last_delivery_id FROM _mirror'),
    waiting: one(inbox, "SELECT count(*) FROM delivery WHERE state = 'waiting'"),
  };
}

/** The tables in which two mirrors differ. */
export function differing(one: string, other: string): string[] {
  const [ours, theirs] = [one, other].map((path) => {
    const db = new Database(path, { readonly: true });
    try {
      return new Map([...publishedTables, ...ownTables].map((table) => [table, rowsIn(db, table)]));
    } finally {
      db.close();
    }
  }) as [Map<string, string>, Map<string, string>];
  return [...ours].filter(([table, rows]) => theirs.get(table) !== rows).map(([table]) => table);
}

function rowsIn(db: Database.Database, table: string): string {
  const rows = db.prepare(`SELECT * FROM ${table}`).raw().all();
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .join('\n');
}

/** Which of these deliveries the database does not have. */
export async function missingInDatabase(database: Postgres, acknowledged: readonly number[]): Promise<number[]> {
  const rows = await database.query<{ body: Buffer }>('SELECT body FROM _delivery');
  const found = new Set(rows.map(({ body }) => nIn(body)));
  return acknowledged.filter((n) => !found.has(n));
}

function nIn(body: Buffer): number {
  return Number((JSON.parse(body.toString()) as { n: number }).n);
}
