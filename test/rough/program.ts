import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Database } from '../../src/sqlite/read-only.ts';
import { testConfigText } from '../fakes/test-config.ts';
import type { Subject } from './rough-case.ts';

export interface Ran {
  /** The exit code, or the signal that ended it. */
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** All that it has printed so far. */
  output(): string;
  /** Resolves when its output matches; rejects when it ends before, or after `ms`. */
  said(pattern: RegExp, ms?: number): Promise<string>;
}

/** Returns a statement as the mirror knows its tables: those of an older commit have names without `_`. */
export function asNamed(db: Database, sql: string): string {
  const isOlder = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = '_mirror'").get() === undefined;
  return isOlder ? sql.replace(/\b_(?=[a-z])/g, '') : sql;
}

/** Writes `catalogued.yaml` into the case's directory, over a service at `url`; `more` is laid over it. */
export function configure({ directory }: Subject, url: string, more: Record<string, unknown> = {}): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'catalogued.yaml');
  writeFileSync(file, testConfigText(directory, url, more), { mode: 0o600 });
  return file;
}

/** Starts the program of the commit; `under` is a program and arguments that run it (faketime …). */
export function start(
  { root, directory, stack }: Subject,
  args: readonly string[],
  { env = {}, under = [] }: { env?: Record<string, string>; under?: readonly string[] } = {},
): Running {
  const [command = '', ...rest] = [...under, process.execPath, join(root, 'dist/cli.js'), ...args];
  const child = spawn(command, rest, {
    cwd: directory,
    env: { PATH: process.env.PATH ?? '', HOME: directory, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  const ended = new Promise<Ran>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? signal ?? 'unknown', stdout, stderr }));
  });
  ended.catch(() => undefined);
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  stack.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await ended.catch(() => undefined);
  });
  const output = () => stdout + stderr;
  const said = (pattern: RegExp, ms = 60_000) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const look = () => {
      if (pattern.test(output())) resolve(output());
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    look();
    const late = setTimeout(() => reject(new Error(`did not say ${pattern} within ${ms} ms:\n${output()}`)), ms);
    ended.then(() => {
      look();
      reject(new Error(`ended without saying ${pattern}:\n${output()}`));
    }, reject);
    return promise.finally(() => {
      clearTimeout(late);
      child.stdout.off('data', look);
      child.stderr.off('data', look);
    });
  };
  return { child, ended, output, said };
}

/** Runs the program of the commit to its end; killed after `ms`, which is the signal for a command that never ends. */
export async function run(
  subject: Subject,
  args: readonly string[],
  { ms = 60_000, ...options }: { ms?: number; env?: Record<string, string>; under?: readonly string[] } = {},
): Promise<Ran> {
  const running = start(subject, args, options);
  const late = setTimeout(() => running.child.kill('SIGKILL'), ms);
  try {
    return await running.ended;
  } finally {
    clearTimeout(late);
  }
}

/** Where a module stands in a checkout: files keep their names when they move to another room. */
export function moduleOf(root: string, path: string): string {
  const named = join(root, path);
  if (existsSync(named)) return named;
  const name = basename(path);
  const found = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (file) => basename(file) === name && file.startsWith(`${path.split('/')[1]}/`),
  );
  if (found.length !== 1) throw new Error(`${path} is ${found.length === 0 ? 'not' : 'more than once'} in ${root}`);
  return join(root, 'src', found[0] ?? '');
}
