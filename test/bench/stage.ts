import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asTheUnit, unitEnvironment } from '../fakes/as-the-unit.ts';
import { cli } from '../fakes/built-program.ts';
import { freePort } from '../fakes/free-port.ts';
import { type RunningCli, startProgram } from '../fakes/run-cli.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';

/** The built sandbox, in a process of its own. */
export interface Service extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

/** The built program of a commit in a directory of its own. */
export class Home implements Disposable {
  readonly #directory = temporaryDirectory();
  readonly #cli: string;
  readonly cwd = this.#directory.path;
  readonly mirror = join(this.cwd, 'mirror', 'mirror.db');

  /** `program`: the `cli.js` of a commit, or else of the sources as they are. */
  constructor(program = cli) {
    this.#cli = program;
  }

  /** Writes a configuration over a service; `more` is laid over it. Returns its path. */
  config(url: string, requests_per_second: number, more: Readonly<Record<string, unknown>> = {}): string {
    const path = join(this.cwd, `${requests_per_second}.yaml`);
    const budget = { requests_per_second, concurrency: 4 };
    writeFileSync(path, testConfigText(this.cwd, url, { budget, ...more }));
    return path;
  }

  /** Starts the daemon, and returns when it has said this. */
  async run(config: string, said: string): Promise<RunningCli> {
    const args = [...asTheUnit, this.#cli, '--config', config, 'run'];
    const env = { ...process.env, ...unitEnvironment, CATALOGUED_RECEIVER_SECRET: 'bench'.repeat(8) };
    const daemon = startProgram([process.execPath, ...args], { cwd: this.cwd, env });
    await daemon.said(said);
    return daemon;
  }

  /** Runs a command to its end. */
  async command(config: string, ...args: readonly string[]): Promise<string> {
    const ran = startProgram([process.execPath, this.#cli, '--config', config, ...args], { cwd: this.cwd });
    const { code, stdout, stderr } = await ran.ended;
    if (code !== 0 && args[0] !== 'status') throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }
}

/** Starts the built sandbox; nothing changes in it by itself. */
export async function startService(products: number): Promise<Service> {
  const port = await freePort();
  const args = ['sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'];
  const sandbox = startProgram([process.execPath, cli, ...args]);
  await sandbox.said('The sandbox serves');
  return { port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void (await sandbox.end()) };
}

/** A program of this folder in a process of its own, and what it said first. */
export interface Program<First = unknown> extends Disposable {
  readonly child: ChildProcess;
  readonly first: First;
}

/** Starts a program of this folder. */
export async function startProgramHere<First>(
  name: string,
  ...args: readonly (string | number)[]
): Promise<Program<First>> {
  const child = fork(join(import.meta.dirname, 'programs', name), args.map(String));
  // Whoever waits for a message of it hears that it has ended.
  child.on('error', () => {}).once('exit', () => child.emit('error', new Error(`${name} has ended`)));
  const [first] = (await once(child, 'message')) as [First];
  return { child, first, [Symbol.dispose]: () => void child.kill() };
}

/** Asks a program of this folder. */
export async function asked<Answer>({ child }: Program, question: string | readonly string[]): Promise<Answer> {
  child.send(question);
  const [answer] = (await once(child, 'message')) as [Answer];
  return answer;
}

/** Posts deliveries over so many connections for a while: milliseconds of each, and of all. */
export async function load(port: number, path: string, connections: number, ms: number) {
  using program = await startProgramHere<{ times: number[]; refused: number; ms: number }>(
    'load.ts',
    ...[port, path, connections, ms],
  );
  const { first } = program;
  if (first.refused > 0) throw new Error(`${first.refused} deliveries were not answered 200`);
  return first;
}

/** Returns the path of the callback address that the sandbox has been given. */
export async function callbackPath({ url }: Service): Promise<string> {
  const [subscription] = (await (await fetch(`${url}/sandbox/subscriptions`)).json()) as { callback_url: string }[];
  return new URL(subscription?.callback_url ?? 'http://none/').pathname;
}
