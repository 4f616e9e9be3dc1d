import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Linux follows as many links before it gives up. */
const mostLinks = 40;

/**
 * Returns the path of a file with every symbolic link followed, also where the file or its directory does not exist yet:
 * two names of one file would otherwise look like two files.
 */
export function realPath(path: string, links = 0): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    // It does not exist yet, or it is a link to what does not.
    const target = links < mostLinks ? linkTarget(absolute) : null;
    if (target !== null) return realPath(resolve(dirname(absolute), target), links + 1);
    const directory = dirname(absolute);
    return directory === absolute ? absolute : join(realPath(directory, links), basename(absolute));
  }
}

/** Returns whether two paths name one file: by links of either kind. */
export function isSamePlace(a: string, b: string): boolean {
  if (realPath(a) === realPath(b)) return true;
  const [one, other] = [statOf(a), statOf(b)];
  return one !== null && other !== null && one.ino === other.ino && one.dev === other.dev;
}

function linkTarget(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

function statOf(path: string) {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
