import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export type ChildMode = 'honest' | 'early' | 'deaf' | 'traced' | 'traced-normal';

/** A receiver in a process of its own. */
export interface ReceiverChild {
  readonly pid: number;
  readonly port: number;
  readonly path: string;
  /** Resolves with its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  kill(): void;
}

/** A harness starts hundreds of them: half of their time would go into reading the same sources. */
const compileCache = join(tmpdir(), 'catalogued-faults-compile-cache');

/**
 * Starts a receiver on the inbox in a directory; `under` is a program and arguments that run it (strace …). Resolves
 * with how it ended where it does so before it listens.
 */
export async function startChild(
  directory: string,
  mode: ChildMode = 'honest',
  under: readonly string[] = [],
): Promise<ReceiverChild | { readonly ended: Promise<number | string>; readonly pid: null }> {
  const program = join(import.meta.dirname, 'receiver-child.ts');
  const [command = '', ...args] = [...under, process.execPath, program, directory, mode];
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  ended.catch(() => undefined);
  child.stdin.on('error', () => undefined);
  for await (const line of createInterface(child.stdout)) {
    const { pid, port, path } = JSON.parse(line) as { pid: number; port: number; path: string };
    const kill = () => {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It is gone already.
      }
    };
    child.stdout.resume();
    return { pid, port, path, ended, kill };
  }
  return { ended, pid: null };
}
