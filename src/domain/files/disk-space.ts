const mebibyte = 1024 * 1024;
/** Space that is low on a disk of any size: the daemon needs it for its write-ahead log. */
const lowBytes = 200 * mebibyte;
/** … but never more than this share of the file system: a small volume is not low for ever. */
const lowShare = 0.05;
/** Low ends only here, so that one file removed does not begin everything again. */
const recovered = 1.25;

/** One file system: bytes in all, and bytes that this user may still write. */
export interface FileSystemSpace {
  readonly size_bytes: number;
  readonly free_bytes: number;
}

/** Space below which bulk work pauses: 200 MiB or twice the write-ahead log, at most a twentieth of the file system. */
export function lowBelow({ size_bytes }: Pick<FileSystemSpace, 'size_bytes'>, wal_bytes: number): number {
  return Math.floor(Math.min(Math.max(lowBytes, 2 * wal_bytes), lowShare * size_bytes));
}

/** Whether space is low now; `was`: whether it was at the last look. A file system that does not tell its size never is. */
export function isLow({ size_bytes, free_bytes }: FileSystemSpace, below: number, was: boolean): boolean {
  return size_bytes > 0 && free_bytes < (was ? recovered * below : below);
}
