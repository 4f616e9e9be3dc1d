import { statSync } from 'node:fs';

/** Identifies the file at a path by inode alone: device numbers change when a machine is started. */
export interface FileNote {
  readonly inode: string;
  readonly size: number;
  readonly modified_at: number;
}

/** Returns a note about the file at a path; null if there is none, or it may not be looked at. */
export function noteOf(path: string): FileNote | null {
  try {
    const { ino, size, mtimeMs } = statSync(path, { bigint: true });
    return { inode: String(ino), size: Number(size), modified_at: Number(mtimeMs) };
  } catch {
    return null;
  }
}

export function sameNote(left: FileNote | null, right: FileNote | null): boolean {
  if (left === null || right === null) return left === right;
  return left.inode === right.inode && left.size === right.size && left.modified_at === right.modified_at;
}

export type FileStanding = 'stands' | 'gone' | 'replaced';

/**
 * Returns whether what is open still has its names. A file that was removed or replaced takes every write as before, and
 * keeps none of it. By path alone: opening the live file would drop SQLite's locks. Called once a connection has written,
 * when the side files are there.
 */
export function watchNames(path: string): () => FileStanding {
  const names = [path, `${path}-wal`, `${path}-shm`];
  const opened = names.map(identity);
  return () => {
    const now = names.map(identity);
    if (now.every((each, index) => each === opened[index])) return 'stands';
    return now.every((each) => each !== null) ? 'replaced' : 'gone';
  };
}

function identity(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
