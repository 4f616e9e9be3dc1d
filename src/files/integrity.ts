import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runOwnProcess } from './own-process.ts';

/** The source or the compiled file, like this one. */
const program = fileURLToPath(new URL(`./integrity-child${extname(import.meta.url)}`, import.meta.url));

/**
 * Checks a whole file in a process of its own, beside its writer. Returns its first problem; null: none. Throws if the
 * file could not be checked, or when the signal aborts.
 */
export async function checkFile(path: string, depth: 'quick' | 'full', signal: AbortSignal): Promise<string | null> {
  const { out, failure } = await runOwnProcess(program, [path, depth], signal);
  if (failure !== null) throw new Error(`${path} could not be checked: ${failure}`);
  return out === 'ok' ? null : out;
}
