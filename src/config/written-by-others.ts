import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CataloguedError } from '../kernel/errors.ts';
import { realPath } from './real-path.ts';
import { forbidden, shownMode } from './secrets.ts';

/**
 * Returns why a file that decides what this process does is refused (77): others can write it, or replace it. Null: only its
 * owner can, or it does not exist. `what` is what messages call it.
 */
export function writtenByOthers(path: string, what: string): CataloguedError | null {
  const file = statOf(path);
  if (file === null || !file.isFile()) return null;
  if ((file.mode & 0o022) !== 0)
    return forbidden(`${what}: others can write ${path} (mode ${shownMode(file)})`, `chmod go-w ${path}`);
  for (const directory of new Set([dirname(path), dirname(realPath(path))])) {
    const stats = statOf(directory);
    if (stats !== null && canReplaceIn(directory, stats))
      return forbidden(
        `${what}: others can replace ${path}: they can write its directory (mode ${shownMode(stats)})`,
        `chmod go-w ${directory}`,
      );
  }
  return null;
}

function canReplaceIn(directory: string, { mode, uid, gid }: Stats): boolean {
  // With the sticky bit everybody replaces only own files, as in /tmp.
  if ((mode & 0o1000) !== 0) return false;
  // A group with the number of its user is that user's own: where the umask is 002, it may write every directory.
  const writable = mode & (gid === uid ? 0o002 : 0o022);
  return writable !== 0 && !isReadOnly(directory);
}

/** Returns whether nobody can write there: Kubernetes mounts configuration read-only, in a directory of mode 0777. */
function isReadOnly(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/** Returns null for a file that cannot be found: reading it tells why. */
function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}
