import { fileURLToPath } from 'node:url';
import { ownProgram } from '../package.ts';
import { runOwnProcess } from './own-process.ts';

const program = fileURLToPath(ownProgram('files/integrity-child'));

/**
 * Checks a whole file in a separate process, while it is written. Returns its first problem; null if there is none.
 * Throws if the file could not be checked, or when the signal aborts.
 */
export async function checkFile(path: string, depth: 'quick' | 'full', signal: AbortSignal): Promise<string | null> {
  const { out, failure } = await runOwnProcess(program, [path, depth], signal);
  if (failure !== null) throw new Error(`${path} could not be checked: ${failure}`);
  return out === 'ok' ? null : out;
}
