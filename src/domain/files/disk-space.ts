const mebibyte = 1024 * 1024;
/** The free space below which a disk of any size is low: the daemon needs it for its write-ahead log. */
const lowBytes = 200 * mebibyte;
/** … but at most this share of the file system, so that a small volume is not always low. */
const lowShare = 0.05;
/** By how much space must exceed that for low space to end, so that one removed file does not restart everything. */
const recovered = 1.25;

/** One file system: bytes in all, and bytes that this user may still write. */
export interface FileSystemSpace {
  readonly size_bytes: number;
  readonly free_bytes: number;
}

/**
 * Returns the space below which bulk work pauses: 200 MiB or twice the write-ahead log, at most a twentieth of the file
 * system.
 */
export function lowBelow({ size_bytes }: Pick<FileSystemSpace, 'size_bytes'>, wal_bytes: number): number {
  return Math.floor(Math.min(Math.max(lowBytes, 2 * wal_bytes), lowShare * size_bytes));
}

/** Tells whether space is low now; `was`: whether it was at the last look. A file system of unknown size never is. */
export function isLow({ size_bytes, free_bytes }: FileSystemSpace, below: number, was: boolean): boolean {
  return size_bytes > 0 && free_bytes < (was ? recovered * below : below);
}
