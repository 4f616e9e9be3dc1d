import { spawn } from 'node:child_process';

/** How a process of our own ended. */
export interface OwnProcessEnd {
  /** What it has printed. */
  readonly out: string;
  /** Why it failed, in the last line that it has said; null: it did not. */
  readonly failure: string | null;
}

/**
 * Runs one of our programs in a process of its own, which is killed when the signal is aborted. Resolves when it has ended;
 * throws where it could not be run, or the signal was aborted.
 */
export async function runOwnProcess(
  program: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<OwnProcessEnd> {
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk.toString();
  });
  const failures: Error[] = [];
  child.on('error', (error) => failures.push(error));
  const { promise, resolve } = Promise.withResolvers<number | string | null>();
  child.once('close', (code, by) => resolve(code ?? by));
  const end = await promise;
  if (failures[0] !== undefined) throw failures[0];
  const last = said.err.trim().split('\n').at(-1);
  return { out: said.out, failure: end === 0 ? null : last || `its process ended with ${end}` };
}
