import { spawn } from 'node:child_process';

/** Result of a process of our own. */
export interface OwnProcessEnd {
  /** Text that it printed on standard output. */
  readonly out: string;
  /** Reason why it failed: the last line that it printed on standard error. Null if it did not fail. */
  readonly failure: string | null;
}

/**
 * Runs one of our programs in a separate process, which is killed when the signal is aborted. Resolves when it has
 * ended. Throws if it could not be run, or if the signal was aborted.
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
