import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Makes one directory in one that stands, as `mkdir` does. An argument, so that a test can have a disk of its own. */
export type MakeOne = (path: string, mode: number) => void;

const makeOne: MakeOne = (path, mode) => void mkdirSync(path, { mode });

/**
 * Makes a directory and those above it that are missing, and returns whether it was missing. Each is made once: Node's own
 * `recursive` never returns where a file system answers ENOENT in a directory that stands, as /proc does.
 */
export function makeDirectory(path: string, mode = 0o777, make = makeOne): boolean {
  const missing: string[] = [];
  for (let each = resolve(path); !isDirectory(each); each = dirname(each)) missing.push(each);
  for (const each of missing.toReversed())
    try {
      make(each, mode);
    } catch (error) {
      // Another process was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(each)) throw error;
    }
  return missing.length > 0;
}

/** Returns whether a directory stands at a path. Throws for anything else that does. */
function isDirectory(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory())
    throw Object.assign(new Error(`ENOTDIR: ${path} is not a directory`), { code: 'ENOTDIR' });
  return found !== undefined;
}
