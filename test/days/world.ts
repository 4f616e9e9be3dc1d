import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { all } from '../../src/sandbox/rough/habits.ts';
import { freePort } from '../fakes/free-port.ts';
import { type Comparison, compare } from '../oracle/oracle.ts';
import { type Certificate, FaultProxy } from './proxy.ts';

/** Directory with the `dist/` under trial. */
const built = process.env.DAYS_BUILT ?? join(import.meta.dirname, '../..');
const cli = join(built, 'dist/cli.js');
/** As in the unit that `catalogued service install` writes. */
const restartMs = 5000;
/** Checks go on while the mirror is compared, and the service's clock is ahead of ours. */
const futureMs = 60_000;

/** How long something has not happened: the longest of all times between two of its occurrences, in milliseconds. */
class Gap {
  #last = Date.now();
  #longest = 0;

  start(): void {
    this.#last = Date.now();
    this.#longest = 0;
  }

  happened(): void {
    this.#longest = this.longest();
    this.#last = Date.now();
  }

  longest(): number {
    return Math.max(this.#longest, Date.now() - this.#last);
  }
}

export interface Line {
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

export interface Condition {
  readonly code: string;
  readonly todo: string;
}

export interface Options {
  readonly products: number;
  /** What the service is called in the configuration. */
  readonly host: string;
  readonly certificate: Certificate | null;
  /** Of the authority that signed the certificate. */
  readonly ca: string | null;
}

/** A service, a way to it, and a daemon beside it that is restarted as systemd would: all of one day. */
export class World implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'days-'));
  /** Where the daemon's files lie; a day may mount something there before the start. */
  readonly data = join(this.directory, 'data');
  readonly proxy: FaultProxy;
  readonly receiver = new Gap();
  readonly check = new Gap();
  readonly lines: Line[] = [];
  /** How the daemon ended by itself: its exit code or signal. */
  readonly exits: (number | string)[] = [];
  /** What the daemon runs under, such as `prlimit`. */
  under: readonly string[] = [];
  /** Whether the directory stays, for a person to look into. */
  kept = false;
  /** Called with each new process of the daemon. */
  started: (pid: number) => void = () => undefined;
  readonly #options: Options;
  readonly #service_port: number;
  readonly #sandbox: ChildProcess;
  readonly #config = join(this.directory, 'catalogued.yaml');
  readonly #over = new AbortController();
  #daemon: ChildProcess | null = null;
  /** The harness ends the daemon: no exit of its own. */
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;
  #callback: string | null = null;
  #ids: readonly number[] = [];

  private constructor(options: Options, service_port: number) {
    this.#options = options;
    this.#service_port = service_port;
    this.proxy = new FaultProxy(service_port, options.certificate);
    const habits = join(this.directory, 'habits.yaml');
    // A list that never ends is never walked to its end, and such a mirror is never filled.
    writeFileSync(habits, stringify({ ...all, list_end: 'ends' }));
    const args = ['--products', options.products, '--habits', habits, '--hold', '5s', '--port', service_port];
    this.#sandbox = spawn(process.execPath, [cli, 'sandbox', ...args.map(String)], { stdio: 'ignore' });
  }

  static async start(options: Options): Promise<World> {
    const world = new World(options, await freePort());
    await world.proxy.listen();
    await world.#configure();
    await world.until('the sandbox answers', 60_000, async () => (await world.#ask<number[]>('products')).length > 0);
    world.#ids = await world.#ask<number[]>('products');
    return world;
  }

  get pid(): number {
    return this.#daemon?.pid ?? 0;
  }

  get ids(): readonly number[] {
    return this.#ids;
  }

  /** Starts the daemon, and restarts it whenever it ends by itself. */
  run(): void {
    this.#stopping = false;
    const [command = '', ...args] = [...this.under, process.execPath, cli, '--config', this.#config, 'run'];
    const child = spawn(command, args, { ...this.#surroundings, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#daemon = child;
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
        .on('line', (line) => {
          this.lines.push(lineOf(line));
          appendFileSync(join(this.directory, 'daemon.log'), `${line}\n`);
        })
        .on('error', () => undefined);
    this.started(child.pid ?? 0);
    const ended = (how: number | string) => {
      if (this.#stopping) return;
      this.exits.push(how);
      this.#restart = setTimeout(() => this.run(), restartMs);
    };
    child.once('exit', (code, signal) => ended(code ?? signal ?? 'unknown'));
    // It could not be started at all.
    child.once('error', (error) => ended(error.message));
  }

  /** Stops the daemon as an operator does; returns how it ended. */
  async stop(): Promise<number | string | null> {
    const child = this.#daemon;
    this.#stopping = true;
    clearTimeout(this.#restart);
    if (child === null || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = new Promise<number | string | null>((resolve) =>
      child.once('exit', (code, signal) => resolve(code ?? signal)),
    );
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
    return await ended.finally(() => clearTimeout(late));
  }

  signal(name: NodeJS.Signals): void {
    this.#daemon?.kill(name);
  }

  /** Lets go of the pipes that the daemon logs to. */
  closeLog(): void {
    this.#daemon?.stdout?.destroy();
    this.#daemon?.stderr?.destroy();
  }

  /** Resolves once the mirror is filled and the service delivers to the receiver, whose address is then posted to. */
  async ready(ms: number): Promise<void> {
    await this.until('the mirror is filled', ms, async () => (await this.status()).filled_at !== null);
    await this.until('a subscription stands', ms, async () => {
      const [subscription] = await this.#ask<{ callback_url: string }[]>('subscriptions');
      this.#callback = subscription?.callback_url ?? null;
      return this.#callback !== null;
    });
  }

  /** Posts a delivery every second and asks for a check every two, until the world ends. */
  watch(): void {
    this.receiver.start();
    this.check.start();
    const { signal } = this.#over;
    void every(1000, signal, async () => {
      const body = '{"subscription_id":"days","products":[]}';
      if ((await this.#post(this.#callback ?? '', null, body, 3000)).status === 200) this.receiver.happened();
    });
    let asked = 0;
    const date = new Date(Date.now() + 4 * 86_400_000).toISOString().slice(0, 10);
    void every(2000, signal, async () => {
      asked += 1;
      const product_id = this.#ids[asked % this.#ids.length];
      const body = JSON.stringify({ product_id, date, deadline_ms: 3000 });
      if ((await this.#post('http://daemon/v1/check', this.#socket, body, 8000)).status === 200) this.check.happened();
    });
  }

  /** Returns what the admin interface says. Rejects where it says nothing. */
  async status(): Promise<{ filled_at: number | null; conditions: Condition[] }> {
    const { status, text } = await this.#post('http://daemon/v1/status', this.#socket, null, 5000);
    if (status !== 200) throw new Error(`status ${status}`);
    return JSON.parse(text) as { filled_at: number | null; conditions: Condition[] };
  }

  /** Returns what a command prints as JSON; null: nothing that is JSON. */
  async command<Printed>(...args: string[]): Promise<Printed | null> {
    const child = spawn(process.execPath, [cli, '--config', this.#config, ...args], {
      ...this.#surroundings,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let printed = '';
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await new Promise((resolve) => child.once('close', resolve));
    clearTimeout(late);
    try {
      return JSON.parse(printed) as Printed;
    } catch {
      return null;
    }
  }

  /** Has something happen to a product, of which the service tells: `disable`, `enable` or `edit`. */
  async change(product_id: number, deed: string, what: object = {}): Promise<void> {
    const url = `http://127.0.0.1:${this.#service_port}/sandbox/products/${product_id}/${deed}`;
    const { status } = await this.#post(url, null, JSON.stringify(what), 10_000);
    if (status !== 200) throw new Error(`${deed} ${product_id}: ${status}`);
  }

  /** Compares every column of every view with what the service would answer now. */
  async compared(): Promise<Comparison> {
    const db = openMirrorForReading(join(this.data, 'mirror.db'));
    try {
      const question = { language: 'en', currency: 'EUR', now: Date.now() + futureMs };
      return await compare(db, this.#ids, (id) => this.#ask(`state?product_id=${id}`), question);
    } finally {
      db.close();
    }
  }

  async until(what: string, ms: number, holds: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + ms;
    while (!(await holds().catch(() => false))) {
      if (Date.now() > end) throw new Error(`not within ${Math.round(ms / 1000)} s: ${what}`);
      await delay(500);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    this.signal('SIGCONT');
    await this.stop();
    await this.proxy[Symbol.asyncDispose]();
    this.#sandbox.kill();
    // A day may have mounted something there.
    spawnSync('umount', [this.data], { stdio: 'ignore' });
    if (!this.kept) rmSync(this.directory, { recursive: true, force: true });
  }

  /** What its programs get of this process: none of its variables may be taken for configuration. */
  get #surroundings(): { cwd: string; env: Record<string, string> } {
    const { ca } = this.#options;
    const env = { PATH: process.env.PATH ?? '', HOME: this.directory };
    return { cwd: this.directory, env: ca === null ? env : { ...env, NODE_EXTRA_CA_CERTS: ca } };
  }

  get #socket(): string {
    return join(this.data, 'state', 'admin.sock');
  }

  /** Writes the configuration of an operator: three lines, files, a receiver; and near dates that are due all the time. */
  async #configure(): Promise<void> {
    const { certificate, host } = this.#options;
    const files = { key: join(this.directory, 'api-key'), secret: join(this.directory, 'receiver-secret') };
    for (const file of Object.values(files)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
    mkdirSync(this.data);
    chmodSync(this.directory, 0o755);
    const listen = `127.0.0.1:${await freePort()}`;
    const config = {
      service: {
        base_url: `${certificate === null ? 'http' : 'https'}://${host}:${this.proxy.port}`,
        api_key_file: files.key,
        user_agent: 'days catalogued',
      },
      mirror: {
        path: join(this.data, 'mirror.db'),
        inbox_path: join(this.data, 'state', 'inbox.db'),
        state_dir: join(this.data, 'state'),
      },
      cadence: { availability: { near: { every: '5m' } } },
      signing: { body: 'json' },
      receiver: { listen, public_url: `http://${listen}/hooks`, secret_file: files.secret },
      subscriptions: [{ id: 'days', type: 'product_ids', entities: 'mirrored' }],
    };
    writeFileSync(this.#config, stringify(config));
  }

  async #ask<Answer>(what: string): Promise<Answer> {
    const url = `http://127.0.0.1:${this.#service_port}/sandbox/${what}`;
    const { status, text } = await this.#post(url, null, null, 10_000);
    if (status !== 200) throw new Error(`${what}: ${status}`);
    return JSON.parse(text) as Answer;
  }

  /** Sends one request over a connection of its own; status 0: no answer. `body` null: a GET. */
  async #post(
    url: string,
    socketPath: string | null,
    body: string | null,
    ms: number,
  ): Promise<{ status: number; text: string }> {
    const headers =
      body === null ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const options = { method: body === null ? 'GET' : 'POST', agent: false, headers, signal: AbortSignal.timeout(ms) };
    try {
      return await new Promise((resolve, reject) => {
        request(url, socketPath === null ? options : { ...options, socketPath }, (answer) => {
          let text = '';
          answer
            .on('data', (chunk: Buffer) => (text += chunk.toString()))
            .on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
            .on('error', reject);
        })
          .on('error', reject)
          .end(body ?? undefined);
      });
    } catch {
      return { status: 0, text: '' };
    }
  }
}

/** Runs a program; throws with what it says if it fails. */
export function tool(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
  return stdout.trim();
}

async function every(ms: number, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    const next = Date.now() + ms;
    await work();
    await delay(Math.max(0, next - Date.now()), undefined, { signal }).catch(() => undefined);
  }
}

function lineOf(text: string): Line {
  try {
    const { level, time, msg, condition, says, hint, message } = JSON.parse(text) as Record<string, string>;
    const rest = [condition, says, hint, message].filter((each) => each !== undefined);
    return {
      at: time === undefined ? Date.now() : Date.parse(time),
      level: level ?? '',
      text: [msg, ...rest].join(': '),
    };
  } catch {
    return { at: Date.now(), level: 'error', text };
  }
}
