import { type ChildProcess, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { Agent, request } from 'undici';
import { stringify } from 'yaml';
import { systemClock } from '../../../src/kernel/clock.ts';
import { openMirrorForReading } from '../../../src/mirror/sql/files.ts';
import type { ProductState } from '../../../src/sandbox/reads/state.ts';
import { all, type Quirks } from '../../../src/sandbox/rough/quirks.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/sandbox.ts';
import { residentMiB } from '../../bench/process.ts';
import { cli } from '../../fakes/built-program.ts';
import { type Ran, startProgram } from '../../fakes/run-cli.ts';
import { asFarAsKnown, dateAfter } from '../../oracle/horizon.ts';
import { type Comparison, compare } from '../../oracle/oracle.ts';
import { type Certificate, Way } from './way.ts';

/** As in the unit that `catalogued service install` writes. */
const restartMs = 5000;
/** Checks go on while the mirror is compared, and the service's clock may be ahead of ours. */
const aheadMs = 60_000;
const horizon = 92;
/** Each receiver has an address of its own: while its daemon is down, the kernel may give a port to whoever connects. */
let worlds = 0;

/** Every quirk, but that a list never ends: such a list is never walked to its end, and such a mirror is never filled. */
export const rough: Quirks = { ...all, list_end: 'ends' };

/** Measures how long something has not happened: the longest of all times between two of its occurrences. */
class Gap {
  #last = Date.now();
  #longest = 0;

  start(): void {
    this.#last = Date.now();
    this.#longest = 0;
  }

  happened(): void {
    this.#longest = Math.max(this.#longest, Date.now() - this.#last);
    this.#last = Date.now();
  }

  seconds(): number {
    return Math.max(this.#longest, Date.now() - this.#last) / 1000;
  }
}

/** A line of the daemon's log. */
export interface Line {
  readonly at: number;
  readonly level: string;
  readonly text: string;
}

export interface Condition {
  readonly code: string;
  readonly says: string;
  readonly todo: string;
}

/** What one life of the daemon used. */
export interface Used {
  readonly mib: number;
  readonly descriptors: number;
}

export interface Options {
  readonly sandbox: Partial<SandboxOptions>;
  /** Laid over the configuration of an operator. */
  readonly config: Record<string, unknown>;
  /** What the service is called in the configuration. */
  readonly host?: string;
  /** With a certificate the service speaks TLS; `ca` is the file of the authority that signed it. */
  readonly tls?: { readonly certificate: Certificate; readonly ca: string } | null;
}

/** The built daemon on real time, restarted as systemd does, the sandbox with its quirks, and the way between the two. */
export class RealWorld implements AsyncDisposable {
  readonly directory = mkdtempSync(join(tmpdir(), 'real-time-'));
  /** Where the daemon's files lie; something may be mounted there before the start. */
  readonly data = join(this.directory, 'data');
  readonly mirror = join(this.data, 'mirror.db');
  readonly sandbox: Sandbox;
  readonly way: Way;
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
  readonly #config = join(this.directory, 'catalogued.yaml');
  /** What its programs get of this process: none of its variables may be taken for configuration. */
  readonly #surroundings: { readonly cwd: string; readonly env: Record<string, string> };
  /** To the admin interface, each request over a connection of its own. */
  readonly #admin = new Agent({ connect: { socketPath: join(this.data, 'state', 'admin.sock') } });
  readonly #over = new AbortController();
  /** The first date of each product that was beyond the horizon at the beginning. */
  readonly #beyond = new Map<number, string>();
  #daemon: ChildProcess | null = null;
  /** The harness ends the daemon: no exit of its own. */
  #stopping = false;
  #restart: NodeJS.Timeout | undefined;

  private constructor(sandbox: Sandbox, way: Way, ca: string | undefined) {
    this.sandbox = sandbox;
    this.way = way;
    const env = { PATH: process.env.PATH ?? '', HOME: this.directory };
    this.#surroundings = {
      cwd: this.directory,
      env: ca === undefined ? env : { ...env, NODE_EXTRA_CA_CERTS: ca },
    };
    for (const { today, timezone, product_id } of this.ids.map((id) => this.state(id)))
      this.#beyond.set(product_id, dateAfter(today, horizon + (timezone === null ? 2 : 0)));
  }

  static async start({ sandbox: more, config, host = '127.0.0.1', tls = null }: Options): Promise<RealWorld> {
    const options = { clock: systemClock, seed: 7, products: 40, quirks: rough, ...more };
    const sandbox = await startSandbox(options);
    const way = await Way.to(sandbox.url, tls?.certificate ?? null);
    const world = new RealWorld(sandbox, way, tls?.ca);
    world.#configure(`${tls === null ? 'http' : 'https'}://${host}:${way.port}`, config);
    return world;
  }

  get pid(): number {
    return this.#daemon?.pid ?? 0;
  }

  get ids(): readonly number[] {
    return this.sandbox.world.visible().map(({ id }) => id);
  }

  /** Starts the daemon, and restarts it whenever it ends by itself. */
  run(): void {
    this.#stopping = false;
    const { child } = startProgram(
      [...this.under, process.execPath, cli, '--config', this.#config, 'run'],
      this.#surroundings,
    );
    this.#daemon = child;
    for (const input of [child.stdout as Readable, child.stderr as Readable])
      createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
        .on('line', (line) => {
          this.lines.push(lineOf(line));
          appendFileSync(join(this.directory, 'daemon.log'), `${line}\n`);
        })
        .on('error', () => undefined);
    this.started(child.pid ?? 0);
    const ended = (how: number | string) => {
      if (this.#stopping || this.#daemon !== child) return;
      this.exits.push(how);
      this.#restart = setTimeout(() => this.run(), restartMs);
    };
    child.once('exit', (code, signal) => ended(code ?? signal ?? 'unknown'));
    // It could not be started at all.
    child.once('error', (error) => ended(error.message));
  }

  /** Ends the daemon, by default as an operator does; returns how it ended, or null where it did not run. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string | null> {
    const child = this.#daemon;
    this.#stopping = true;
    clearTimeout(this.#restart);
    if (child === null || child.exitCode !== null || child.signalCode !== null) return null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
    const [code, by] = (await ended) as [number | null, string | null];
    clearTimeout(late);
    return code ?? by;
  }

  /** Kills the daemon behind the harness's back, once it runs, and resolves when the harness knows how it ended. */
  async kill(): Promise<void> {
    await this.until('the daemon runs', 30_000, async () => this.used() !== null);
    const ended = once(this.#daemon as ChildProcess, 'exit');
    this.signal('SIGKILL');
    await ended;
  }

  signal(name: NodeJS.Signals): void {
    this.#daemon?.kill(name);
  }

  /** Lets go of the pipes that the daemon logs to. */
  closeLog(): void {
    this.#daemon?.stdout?.destroy();
    this.#daemon?.stderr?.destroy();
  }

  /** Returns what the daemon uses now; null: it does not run. */
  used(): Used | null {
    try {
      return { mib: residentMiB(this.pid), descriptors: readdirSync(`/proc/${this.pid}/fd`).length };
    } catch {
      return null;
    }
  }

  /** Resolves once the mirror is filled and the service delivers to the receiver. */
  async ready(ms: number): Promise<void> {
    await this.until('the mirror is filled', ms, async () => (await this.status()).filled_at !== null);
    await this.until('a subscription stands', ms, async () => this.sandbox.subscriptions().length > 0);
  }

  /** Posts a delivery every second and asks for a check every two, until the world ends. */
  watch(): void {
    this.receiver.start();
    this.check.start();
    const callback = this.sandbox.subscriptions()[0]?.callback_url ?? '';
    void this.#every(1000, async () => {
      const { status } = await ask(callback, { subscription_id: 'real-time', products: [] }, 3000);
      if (status === 200) this.receiver.happened();
    });
    const { ids } = this;
    const date = new Date(Date.now() + 4 * 86_400_000).toISOString().slice(0, 10);
    let asked = 0;
    void this.#every(2000, async () => {
      asked += 1;
      const question = { product_id: ids[asked % ids.length], date, deadline_ms: 3000 };
      if ((await ask('http://daemon/v1/check', question, 8000, this.#admin)).status === 200) this.check.happened();
    });
  }

  /** Returns what the admin interface says. Rejects where it says nothing. */
  async status(): Promise<{ filled_at: number | null; conditions: Condition[] }> {
    const { status, text } = await ask('http://daemon/v1/status', null, 5000, this.#admin);
    if (status !== 200) throw new Error(`status ${status}`);
    return JSON.parse(text) as { filled_at: number | null; conditions: Condition[] };
  }

  /** Runs a command beside the daemon; one that takes too long is killed. */
  async command(ms: number, ...args: string[]): Promise<Ran> {
    const command = startProgram([process.execPath, cli, '--config', this.#config, ...args], this.#surroundings);
    const late = setTimeout(() => command.end('SIGKILL'), ms);
    return await command.ended.finally(() => clearTimeout(late));
  }

  /** Compares every column of every view with what the service would answer now. */
  async compared(): Promise<Comparison> {
    const db = openMirrorForReading(this.mirror);
    const state = async (id: number) => {
      // Others that are measured meanwhile must not wait for the end of it.
      await setImmediate();
      return asFarAsKnown(db, this.state(id), this.#beyond.get(id) ?? 'none');
    };
    try {
      return await compare(db, this.ids, state, {
        language: 'en',
        currency: 'EUR',
        now: Date.now(),
        ahead_ms: aheadMs,
      });
    } finally {
      db.close();
    }
  }

  /** Gives the daemon another key, which it reads at its next start or reload. */
  setKey(key: string): void {
    writeFileSync(join(this.directory, 'api-key'), key);
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
    await this.#admin.destroy();
    await this.way[Symbol.asyncDispose]();
    await this.sandbox[Symbol.asyncDispose]();
    // A day may have mounted something there.
    spawnSync('umount', [this.data], { stdio: 'ignore' });
    if (!this.kept) rmSync(this.directory, { recursive: true, force: true });
  }

  /** Returns what is so of a product. */
  state(id: number): ProductState {
    const state = this.sandbox.state(id, { language: 'en', currency: 'EUR', horizon });
    if (state === null) throw new Error(`no product ${id}`);
    return state;
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const next = Date.now() + ms;
      await work();
      await delay(Math.max(0, next - Date.now()), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Writes the configuration of an operator: three lines, files, a receiver. */
  #configure(base_url: string, more: Record<string, unknown>): void {
    const [api_key_file, secret_file] = ['api-key', 'receiver-secret'].map((name) => join(this.directory, name));
    for (const file of [api_key_file, secret_file])
      writeFileSync(file ?? '', randomBytes(32).toString('hex'), { mode: 0o600 });
    mkdirSync(this.data);
    chmodSync(this.directory, 0o755);
    worlds += 1;
    const listen = `127.${30 + (worlds % 200)}.${(process.pid >> 8) & 255}.${process.pid & 255}:8480`;
    const state_dir = join(this.data, 'state');
    const config = {
      service: { base_url, api_key_file, user_agent: 'catalogued in real time' },
      mirror: { path: this.mirror, state_dir },
      signing: { body: 'json' },
      receiver: { listen, public_url: `http://${listen}/hooks`, secret_file },
      subscriptions: [{ id: 'real-time', type: 'product_ids', entities: 'mirrored' }],
      ...more,
    };
    writeFileSync(this.#config, stringify(config));
  }
}

/** Changes a stored price: the comparison must find it. */
export function plantPrice(mirror: string): void {
  const db = new Database(mirror, { timeout: 5000 });
  db.exec('UPDATE day SET lowest_price = lowest_price + 1 WHERE product_id = (SELECT max(product_id) FROM day)');
  db.close();
}

/** Sends one request over a connection of its own; status 0: no answer. `body` null: a GET. */
async function ask(url: string, body: object | null, ms: number, dispatcher?: Agent) {
  const headers = { 'content-type': 'application/json' };
  const what = body === null ? {} : { method: 'POST' as const, body: JSON.stringify(body), headers };
  try {
    const options = { ...what, reset: true, signal: AbortSignal.timeout(ms), ...(dispatcher && { dispatcher }) };
    const answer = await request(url, options);
    return { status: answer.statusCode, text: await answer.body.text() };
  } catch {
    return { status: 0, text: '' };
  }
}

function lineOf(text: string): Line {
  try {
    const { level = '', time, msg, condition, says, hint, message } = JSON.parse(text) as Record<string, string>;
    const said = [msg, condition, says, hint, message].filter((each) => each !== undefined).join(': ');
    return { at: time === undefined ? Date.now() : Date.parse(time), level, text: said };
  } catch {
    return { at: Date.now(), level: 'error', text };
  }
}
