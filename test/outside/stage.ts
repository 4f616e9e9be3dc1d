import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as open } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import Database from 'better-sqlite3';
import { stringify } from 'yaml';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { type Ran, type RunningCli, runCli, startCli } from '../fakes/run-cli.ts';
import { asFarAsKnown, dateAfter } from '../oracle/horizon.ts';
import { compare } from '../oracle/oracle.ts';
import type { Shown } from '../oracle/shown.ts';

/*
 * What users have, and nothing else: the built program, its commands, its sockets, the file that storefronts read, and the simulated
 * service as a process of its own. Nothing here imports what lies below src/, so that the inside may change.
 */

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The text as JSON. Throws where it is none. */
  json<Body = Record<string, unknown>>(): Body;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Posted as it is; an object is posted as JSON. */
  readonly body?: string | Buffer | object;
}

/** Asks an HTTP server at `http://…`, or at the socket of a path. */
export function ask(at: string, path: string, { method, headers = {}, body }: Asked = {}): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const sent = body === undefined ? undefined : isText ? body : JSON.stringify(body);
  const type = sent === undefined || isText ? {} : { 'content-type': 'application/json' };
  const target = at.startsWith('http') ? { host: new URL(at).hostname, port: new URL(at).port } : { socketPath: at };
  const options = {
    ...target,
    path,
    agent: false,
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    headers: { ...type, ...(sent === undefined ? {} : { 'content-length': Buffer.byteLength(sent) }), ...headers },
  };
  const call = open(options, async (response) => {
    try {
      const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
      const json = <Body>() => JSON.parse(text) as Body;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
    } catch (error) {
      reject(error);
    }
  });
  call.on('error', reject);
  call.end(sent);
  return promise;
}

export interface Calls {
  readonly calls: number;
  readonly by_kind: Readonly<Record<string, number>>;
  readonly by_status: Readonly<Record<string, number>>;
  /** Answers with 200 by path and query, where there was more than one. */
  readonly repeated: Readonly<Record<string, number>>;
  readonly violations: number;
}

/** The simulated service, as a process of its own. */
export class Service implements AsyncDisposable {
  readonly url: string;
  readonly process: RunningCli;

  private constructor(url: string, process: RunningCli) {
    this.url = url;
    this.process = process;
  }

  /** Starts it with these options of `catalogued sandbox`: `['--products', '5']`. */
  static async start(cwd: string, args: readonly string[]): Promise<Service> {
    const process = startCli(['sandbox', '--port', '0', ...args], { cwd });
    const said = await process.said(/serves \d+ products on \S+\n/);
    return new Service(/ on (\S+)/.exec(said)?.[1] ?? '', process);
  }

  async get<Body>(path: string): Promise<Body> {
    const answer = await ask(this.url, path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json<Body>();
  }

  async post(path: string, body: object): Promise<void> {
    const answer = await ask(this.url, path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`);
  }

  /** Changes how it behaves from now on, as `--quirks` does: `{ limit: 30, faults: [] }`. */
  quirks(quirks: object): Promise<void> {
    return this.post('/sandbox/quirks', quirks);
  }

  /** `edition`: `&language=nl&currency=JPY`; English and euros where it is left out. */
  shown(product_id: number, edition = ''): Promise<Shown> {
    return this.get<Shown>(`/sandbox/state?product_id=${product_id}${edition}`);
  }

  /** Products that it shows, by id. */
  products(): Promise<number[]> {
    return this.get<number[]>('/sandbox/products');
  }

  /** Calls that it has answered. `violations`: those that came while it had told the caller to wait. */
  calls(): Promise<Calls> {
    return this.get<Calls>('/sandbox/calls');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.end();
  }
}

export interface StageOptions {
  /** Options of the simulated service beside `--port`. */
  readonly service?: readonly string[];
  /** Laid over the configuration, section by section. */
  readonly config?: Readonly<Record<string, object>>;
  /** Variables of the environment of every command. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A directory with a configuration, the service beside it, and the commands of the program. */
export class Stage implements AsyncDisposable {
  readonly directory: string;
  readonly service: Service;
  readonly config: string;
  readonly mirror: string;
  /** Sockets: the operator's interface and the storefronts' one. */
  readonly admin: string;
  readonly storefront: string;
  readonly #env: Record<string, string>;
  #daemon: RunningCli | null = null;

  private constructor(directory: string, service: Service, env: Record<string, string>) {
    this.directory = directory;
    this.service = service;
    this.config = join(directory, 'catalogued.yaml');
    this.mirror = join(directory, 'data', 'mirror.db');
    this.admin = join(directory, 'data', 'state', 'admin.sock');
    this.storefront = join(directory, 'storefront.sock');
    this.#env = env;
  }

  static async open({ service: args = ['--products', '6'], config = {}, env = {} }: StageOptions = {}): Promise<Stage> {
    const directory = mkdtempSync(join(tmpdir(), 'outside-'));
    try {
      const service = await Service.start(directory, args);
      const stage = new Stage(directory, service, { ...env });
      stage.configure(config);
      return stage;
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Writes the configuration; a running daemon takes it in with `catalogued reload` or at its next start. */
  configure(config: Readonly<Record<string, object>>): void {
    mkdirSync(dirname(this.mirror), { recursive: true });
    const base: Record<string, object> = {
      service: { base_url: this.service.url, profile: { authorization: { header: null } } },
      mirror: { path: this.mirror, state_dir: dirname(this.admin) },
      storefront: { listen: `unix:${this.storefront}` },
      budget: { requests_per_second: 1000, share: 0, audit: 0 },
      backup: { at: null },
    };
    const sections = Object.entries(config).map(([name, section]) => [
      name,
      Array.isArray(section) ? section : { ...base[name], ...section },
    ]);
    writeFileSync(this.config, stringify({ ...base, ...Object.fromEntries(sections) }));
  }

  /** Runs a command to its end. */
  run(...args: readonly string[]): Promise<Ran> {
    return runCli(['--config', this.config, ...args], { cwd: this.directory, env: this.#env });
  }

  /** Runs a command that prints JSON, and returns it. */
  async json<Body>(...args: readonly string[]): Promise<Body> {
    const { stdout, stderr } = await this.run(...args, '--json');
    if (stdout === '') throw new Error(`${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Body;
  }

  /** Starts a command that goes on. Who starts it ends it. */
  start(...args: readonly string[]): RunningCli {
    return startCli(['--config', this.config, ...args], { cwd: this.directory, env: this.#env });
  }

  /** Starts the daemon, and waits until it answers its operator. */
  async live(): Promise<RunningCli> {
    this.#daemon = this.start('run');
    await this.#daemon.said(/daemon started/);
    return this.#daemon;
  }

  /** Starts the daemon, and waits until the mirror is whole. */
  async filled(): Promise<RunningCli> {
    const daemon = await this.live();
    await daemon.said(/pass ended/);
    return daemon;
  }

  /** Ends the daemon, and returns what it has said. */
  async ended(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<Ran | null> {
    const ran = (await this.#daemon?.end(signal)) ?? null;
    this.#daemon = null;
    return ran;
  }

  /** Returns rows of the mirror, as a storefront in another language reads them. */
  rows<Row>(sql: string, ...values: readonly unknown[]): Row[] {
    const db = new Database(this.mirror, { readonly: true });
    try {
      return db.prepare<unknown[], Row>(sql).all(...values);
    } finally {
      db.close();
    }
  }

  /** Waits until a query answers with rows that are right. */
  rowsOnce<Row>(sql: string, isIt: (rows: readonly Row[]) => boolean): Promise<Row[]> {
    return happens(() => this.rows<Row>(sql), isIt);
  }

  /** Has the daemon read products again now: all that there is to read of them. Wait for what it finds. */
  async reread(...product_ids: readonly number[]): Promise<void> {
    const resources = ['products', 'checkout', 'variants', 'images', 'availability'];
    const answer = await ask(this.admin, '/v1/resync', { body: { resources, product_ids } });
    if (answer.status !== 200) throw new Error(`resync: ${answer.status} ${answer.text}`);
  }

  /** Asks the operator's interface of the daemon, and returns the JSON of a good answer. */
  async ask<Body>(path: string): Promise<Body> {
    const answer = await ask(this.admin, path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json<Body>();
  }

  /**
   * Compares every column of every view with what the service shows now, and returns the first differences; none: they
   * are equal.
   */
  async differences(): Promise<string[]> {
    const db = new Database(this.mirror, { readonly: true });
    try {
      // A date that came into the horizon since the fill may be unknown for a day.
      const beyond = dateAfter(new Date().toISOString().slice(0, 10), 89);
      const state = async (id: number) => asFarAsKnown(db, await this.service.shown(id), beyond);
      const question = { language: 'en', currency: 'EUR', now: Date.now() };
      return (await compare(db, await this.service.products(), state, question)).first;
    } finally {
      db.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.ended();
    await this.service[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Looks again until `isIt` holds, and returns what was seen. Rejects with the last thing seen after a minute. */
export async function happens<Seen>(look: () => Seen | Promise<Seen>, isIt: (seen: Seen) => boolean): Promise<Seen> {
  const end = performance.now() + 60_000;
  for (;;) {
    const seen = await look();
    if (isIt(seen)) return seen;
    if (performance.now() > end) throw new Error(`it does not happen; last seen: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The package's exports, as an application imports them: `catalogued/reader`. */
export function imported<Module>(name: 'storefront/reader.js' | 'reader/http.mjs'): Promise<Module> {
  return import(pathToFileURL(join(dirname(cli), name)).href) as Promise<Module>;
}

/** Returns the sections of a configuration that receives notifications at a free port, in plain JSON. */
export async function receiving(
  stage: Stage,
  secret = 'a-secret-of-at-least-32-characters',
): Promise<Readonly<Record<string, object>>> {
  const secret_file = join(stage.directory, 'receiver-secret');
  writeFileSync(secret_file, secret, { mode: 0o600 });
  const listen = `127.0.0.1:${await freePort()}`;
  return {
    receiver: { listen, public_url: `http://${listen}/hooks`, secret_file },
    signing: { body: 'json' },
    subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
  };
}

/** Returns the address at which the service announces changes now; null: it was not asked to. */
export async function callback({ service }: Stage): Promise<URL | null> {
  const [subscription] = await service.get<{ callback_url: string }[]>('/sandbox/subscriptions');
  return subscription === undefined ? null : new URL(subscription.callback_url);
}

/** Returns a notification of the service about one product: `{ change_type: 'checkout_enabled' }`. */
export function announced(product_id: number, ...changes: readonly object[]): object {
  return { subscription_id: 'all', products: [{ product_id, changes }] };
}
