import { type ChildProcess, spawn } from 'node:child_process';
import { cli } from './built-program.ts';
import { runMark } from './no-child-outlives.ts';

export interface Ran {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command, of the program or of another one: its own process. */
export interface RunningCli extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly ended: Promise<Ran>;
  /** What it has said until now. */
  output(): string;
  /** Resolves when its output has this in it; rejects when it ends before. */
  said(text: string | RegExp): Promise<string>;
  /** Signals it where it still runs, and waits for its end. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<Ran>;
}

/** Starts a program; without `env` in the environment of this process. */
export function startProgram(
  [program = '', ...args]: readonly string[],
  { cwd, env }: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): RunningCli {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
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
  const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return await ended;
  };
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
    end,
    [Symbol.asyncDispose]: async () => {
      await end();
    },
  };
}

/** A run under faketime has its commands live at the same time. */
const fakedTime = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name === 'LD_PRELOAD' || name.startsWith('FAKETIME')),
);

/** Starts a command of the built program. */
export function startCli(
  args: readonly string[],
  { cwd, env = {}, within = [] }: { cwd: string; env?: Record<string, string>; within?: readonly string[] },
): RunningCli {
  return startProgram([...within, process.execPath, cli, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', HOME: cwd, [runMark]: process.env[runMark] ?? '', ...fakedTime, ...env },
  });
}

export function runCli(args: readonly string[], options: { cwd: string; env?: Record<string, string> }): Promise<Ran> {
  return startCli(args, options).ended;
}

/** Runs a module of the tests, and returns the JSON that it prints; null: a signal ended it before it printed any. */
export async function askModule<Answer>(args: readonly string[], env = process.env): Promise<Answer | null> {
  const { code, stdout, stderr } = await startProgram([process.execPath, ...args], { env }).ended;
  if (code !== null && code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout === '' ? null : (JSON.parse(stdout) as Answer);
}
