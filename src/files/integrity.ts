import { spawn } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From source or compiled, as this file is. */
const program = fileURLToPath(new URL(`./integrity-child${extname(import.meta.url)}`, import.meta.url));

/**
 * Goes through a whole file in a process of its own, beside whoever writes it; returns its first problem, null: none.
 * Throws where nobody could look, and when the signal ends it.
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
