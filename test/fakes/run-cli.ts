import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runMark } from './no-child-outlives.ts';

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command of the program: its own process, from source. */
export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** What it has said until now. */
  output(): string;
  /** Resolves when its output has this in it; rejects when it ends before. */
  said(text: string | RegExp): Promise<string>;
}

export function startCli(
  args: readonly string[],
  { cwd, env = {}, within = [] }: { cwd: string; env?: Record<string, string>; within?: readonly string[] },
): RunningCli {
  const [program = '', ...rest] = [...within, process.execPath, cli, ...args];
  const child = spawn(program, rest, {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, [runMark]: process.env[runMark] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  const listeners = new Set<() => void>();
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    for (const listener of listeners) listener();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
    for (const listener of listeners) listener();
  });
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  return {
    child,
    ended,
    output: () => stdout + stderr,
    said: (text) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const look = () => {
        const all = stdout + stderr;
        if (typeof text === 'string' ? all.includes(text) : text.test(all)) resolve(all);
      };
      listeners.add(look);
      look();
      ended.then(() => reject(new Error(`it ended without saying ${text}:\n${stdout}${stderr}`)));
      return promise.finally(() => listeners.delete(look));
    },
  };
}

export function runCli(args: readonly string[], options: { cwd: string; env?: Record<string, string> }): Promise<Ran> {
  return startCli(args, options).ended;
}
