import { spawn } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The source or the compiled file, like this one. */
const program = fileURLToPath(new URL(`./integrity-child${extname(import.meta.url)}`, import.meta.url));

/**
 * Checks a whole file in a process of its own, beside its writer. Returns its first problem; null: none. Throws if the
 * file could not be checked, or when the signal aborts.
 */
export async function checkFile(path: string, depth: 'quick' | 'full', signal: AbortSignal): Promise<string | null> {
  const child = spawn(process.execPath, [program, path, depth], {
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
  const { promise, resolve, reject } = Promise.withResolvers<number | string | null>();
  child.once('error', reject);
  child.once('close', (code, by) => resolve(code ?? by));
  const end = await promise;
  if (end !== 0) throw new Error(`${path} could not be checked: ${said.err.trim() || `its process ended with ${end}`}`);
  return said.out === 'ok' ? null : said.out;
}
