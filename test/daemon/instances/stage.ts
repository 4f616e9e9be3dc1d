import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { connectPostgres, type Postgres } from '../../../src/copies/postgres/connect.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { canary } from '../../fakes/canary.ts';
import { freePort } from '../../fakes/free-port.ts';
import { type RunningCli, startCli } from '../../fakes/run-cli.ts';
import { type StartedPostgres, startPostgres } from '../../fakes/start-postgres.ts';
import { startSandbox } from '../../fakes/start-sandbox.ts';
import { writeTestConfig } from '../../fakes/test-config.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';

/** One call of the service: when it reached it, or was sent, by the clock that all processes share, and whose it was. */
export interface Call {
  readonly at: number;
  readonly by: string;
}

/** The time of the clock that all processes share, in milliseconds. */
export const sharedNow = () => Number(process.hrtime.bigint()) / 1e6;

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
  /** Whether it stands by with the leader's mirror. */
  isStandingBy(): Promise<boolean>;
  /** Resolves when it does. */
  standsBy(): Promise<void>;
  /** When it sent its calls, whether or not they arrived. */
  sent(): readonly Call[];
  /** What the process that runs has said. */
  output(): string;
  /** For how long its main thread has waited for a processor that others had, in milliseconds. */
  starved(): number;
  /** Ends the process at once. */
  kill(): Promise<void>;
}

export interface Stage extends AsyncDisposable {
  readonly server: StartedPostgres;
  readonly database: Postgres;
  readonly sandbox: Sandbox;
  readonly calls: Call[];
  readonly instances: readonly [Instance, Instance];
  /** Where each of them finds the service. */
  readonly doors: Readonly<Record<string, string>>;
  /** Resolves with whoever leads, once it calls the service. */
  leading(): Promise<Instance>;
  other(instance: Instance): Instance;
  /** Resolves with who leads and who stands by, once it could take over: on a busy machine they may change before. */
  roles(): Promise<[leader: Instance, other: Instance]>;
  /** Resolves when every instance knows the callback address that the service was told of. */
  addressed(): Promise<void>;
  /** The first call of an instance that arrived after an instant. */
  firstCall(by: Instance, after: number): Promise<Call>;
  /** The most calls in any second, as all instances sent them. */
  mostInASecond(): number;
  /** The same as they arrived: what stood still on the way comes with what follows. */
  mostArrivedInASecond(): number;
}

export interface StageOptions {
  /** Of every instance. */
  readonly config?: Record<string, unknown>;
  readonly server?: StartedPostgres;
  /** A host of its own for `a`. */
  readonly apart?: Apart;
  /** 3000 unless given: more to read than a test takes, so that there is always a next call. */
  readonly products?: number;
}

/** A host that reaches the service and PostgreSQL over a network. */
export interface Apart {
  /** The addresses at both ends. */
  readonly here: string;
  readonly there: string;
  /** What a command begins with that runs there. */
  readonly within: readonly string[];
  /** Of PostgreSQL, as it is reached from there. */
  readonly database_url: string;
}

export const ceiling = 10;
const schema = 'catalogued';
/** Long enough for a busy machine: what has a limit is measured, not waited for. */
export const patient = { timeout: 180_000, interval: 20 };

/** A database, a service that says who calls it, and two instances that are not started yet. */
export async function stage({ config = {}, apart, products = 3000, ...given }: StageOptions = {}): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(temporaryDirectory()).path;
  const server = given.server ?? stack.use(startPostgres());
  const database = stack.use(await connectPostgres({ url: server.url, schema, connections: 2 }));
  const sandbox = stack.use(await startSandbox({ products, lean: true, hold_ms: 0, counts: 'none' }));
  const calls: Call[] = [];
  const instances: Instance[] = [];
  const doors: Record<string, string> = {};
  for (const name of ['a', 'b']) {
    const network = name === 'a' ? apart : undefined;
    const called = () => void calls.push({ at: sharedNow(), by: name });
    const door = stack.use(await counting(sandbox.url, network?.here ?? '127.0.0.1', called));
    doors[name] = door.url;
    instances.push(await instanceAt(join(directory, name), { name, service: door.url, server, config, network }));
  }
  const [a, b] = instances as [Instance, Instance];
  stack.defer(async () => void (await Promise.all(instances.map((each) => each.kill()))));
  const firstCall = async (by: Instance, after: number) => {
    const found = () => calls.find((call) => call.by === by.name && call.at > after);
    await expect.poll(found, patient).toBeDefined();
    return found() as Call;
  };
  const other = (instance: Instance) => (instance === a ? b : a);
  const leading = async () => {
    const leader = async () => {
      const [row] = await database.query<{ name: string; holder: string | null }>('SELECT name, holder FROM _leader');
      return row?.holder == null ? undefined : instances.find(({ name }) => name === row.name);
    };
    const after = sharedNow();
    // Whoever leads when it is asked may lead no more a moment later.
    let found: Instance | undefined;
    const calling = async () => {
      found = await leader().catch(() => undefined);
      return calls.some((call) => call.by === found?.name && call.at > after);
    };
    await expect.poll(calling, patient).toBe(true);
    return found as Instance;
  };
  const closing = stack.move();
  return {
    server,
    database,
    sandbox,
    calls,
    instances: [a, b],
    doors,
    other,
    firstCall,
    addressed: async () => {
      const told = () => database.query<{ told: number }>('SELECT count(*) AS told FROM _callback_epoch');
      await expect.poll(async () => (await told())[0]?.told, patient).toBe(1);
      await setTimeout(1000);
    },
    leading,
    roles: async () => {
      let found: [Instance, Instance] = [a, b];
      const standing = async () => {
        const leader = await leading();
        found = [leader, other(leader)];
        return await found[1].isStandingBy();
      };
      await expect.poll(standing, patient).toBe(true);
      return found;
    },
    mostInASecond: () => mostIn(instances.flatMap((each) => each.sent())),
    mostArrivedInASecond: () => mostIn(calls),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** The most calls in any second. */
function mostIn(calls: readonly Call[]): number {
  const times = calls.map(({ at }) => at).toSorted((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [index, at] of times.entries()) {
    while ((times[first] ?? at) <= at - 1000) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

interface InstanceOptions {
  readonly name: string;
  readonly service: string;
  readonly server: StartedPostgres;
  readonly config: Record<string, unknown>;
  readonly network: Apart | undefined;
}

const noting = fileURLToPath(new URL('./sent-times.mjs', import.meta.url));

async function instanceAt(directory: string, options: InstanceOptions): Promise<Instance> {
  const { name, service, server, network } = options;
  const [hooks, admin] = [await freePort(), await freePort()];
  const host = network?.there ?? '127.0.0.1';
  mkdirSync(directory, { recursive: true });
  const config = writeTestConfig(directory, service, {
    budget: { requests_per_second: ceiling, concurrency: 4, share: 0, audit: 0 },
    signing: { body: 'json' },
    receiver: { listen: `${host}:${hooks}`, public_url: `http://${host}:${hooks}/hooks` },
    subscriptions: [{ id: 'all', type: 'products_i_sell' }],
    admin: { listen: `${host}:${admin}` },
    database: { schema },
    instance: { name, advertise: `http://${host}:${admin}` },
    ...options.config,
  });
  const sent = join(directory, 'sent');
  writeFileSync(sent, '');
  const env = {
    CATALOGUED_DATABASE_URL: network?.database_url ?? server.url,
    CATALOGUED_RECEIVER_SECRET: canary.master,
    CATALOGUED_ADMIN_TOKEN: canary.admin,
    NODE_OPTIONS: `--import ${noting}`,
    CATALOGUED_TEST_SENT: sent,
    CATALOGUED_TEST_SERVICE: service,
  };
  const own: Instance = {
    name,
    mirror: join(directory, 'mirror', 'mirror.db'),
    inbox: join(directory, 'state', 'inbox.db'),
    admin: `http://${host}:${admin}`,
    hooks: `http://${host}:${hooks}/hooks`,
    running: null,
    start: () => {
      const running = startCli(['--config', config, 'run'], { cwd: directory, env, within: network?.within ?? [] });
      own.running = running;
      return running;
    },
    ready: async () => {
      const status = () => fetch(`${own.admin}/readyz`).then(({ status }) => status);
      await expect.poll(() => status().catch(() => 0), patient).toBe(200);
    },
    isStandingBy: async () => {
      const asked = { headers: { authorization: `Bearer ${canary.admin}` } };
      const metrics = await fetch(`${own.admin}/metrics`, asked).then((answer) => answer.text(), String);
      return metrics.includes('\ncatalogued_standby_ready 1\n');
    },
    standsBy: () => expect.poll(own.isStandingBy, patient).toBe(true),
    sent: () => {
      const lines = readFileSync(sent, 'utf8').split('\n').filter(Boolean);
      return lines.map((line) => ({ at: Number(line), by: name }));
    },
    output: () => own.running?.output() ?? '',
    starved: () => {
      // Time on a processor, time in the queue for one, and turns: of the main thread.
      const [, queued = '0'] = readFileSync(`/proc/${own.running?.child.pid}/schedstat`, 'utf8').split(' ');
      return Number(queued) / 1e6;
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
async function counting(url: string, host: string, called: () => void) {
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
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
