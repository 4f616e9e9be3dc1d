import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sourceFiles } from '../architecture/import-graph.ts';

const root = join(import.meta.dirname, '../..');
const place = join(root, 'node_modules/.cache/built');
/** Of a run that may still use it. */
const usedForMs = 3_600_000;

/** Returns what the built program depends on, as a name; another checkout has another schema/. */
export function nameOfSources(root: string): string {
  const hash = createHash('sha256').update(root);
  const files = ['.rolldown.ts', 'package-lock.json', ...sourceFiles(join(root, 'src')).map((file) => `src/${file}`)];
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

function removeUnused(): void {
  for (const name of readdirSync(place)) {
    const path = join(place, name);
    if (Date.now() - statSync(path).mtimeMs > usedForMs) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * Returns the program as `npm run build` makes it of the sources as they are: its processes start in a third of the time.
 * It is made where it is not there yet, in a second, in a directory that nobody else uses.
 */
async function buildProgram(): Promise<string> {
  const directory = join(place, nameOfSources(root));
  const cli = join(directory, 'dist/cli.js');
  if (!existsSync(cli)) {
    mkdirSync(place, { recursive: true });
    removeUnused();
    const made = `${directory}.${process.pid}`;
    await promisify(execFile)(process.execPath, ['.rolldown.ts'], {
      cwd: root,
      env: { ...process.env, CATALOGUED_DIST: join(made, 'dist') },
    });
    for (const name of ['package.json', 'schema', 'config', 'docs', 'node_modules'])
      symlinkSync(join(root, name), join(made, name));
    try {
      renameSync(made, directory);
    } catch {
      // Another process was faster, with the same.
      rmSync(made, { recursive: true });
    }
  }
  const now = new Date();
  utimesSync(directory, now, now);
  return cli;
}

/** Path of `cli.js`, built of the sources as they are. */
export const cli = await buildProgram();
