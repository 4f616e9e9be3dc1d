const mebibyte = 1024 * 1024;
/**
 * Free space below which a disk is low: the daemon needs it for its write-ahead log. `lowShare` limits it on small
 * disks.
 */
const lowBytes = 200 * mebibyte;
/** Largest share of the file system that this may be, so that a small volume is not always low. */
const lowShare = 0.05;
/** Factor of that limit at which low space ends, so that one removed file does not restart everything. */
const recovered = 1.25;

/** One file system: its size, and the bytes that this user may still write. */
export interface FileSystemSpace {
  readonly size_bytes: number;
  readonly free_bytes: number;
}

/**
 * Returns the free bytes below which bulk work pauses: 200 MiB or twice the write-ahead log, whichever is more, but at
 * most a twentieth of the file system.
 */
export function lowBelow(size_bytes: number, wal_bytes: number): number {
  return Math.floor(Math.min(Math.max(lowBytes, 2 * wal_bytes), lowShare * size_bytes));
}

/**
 * Returns whether space is low now. `was`: whether it was low at the last inspection. A file system of unknown size
 * never is.
 */
export function isLow({ size_bytes, free_bytes }: FileSystemSpace, below: number, was: boolean): boolean {
  return size_bytes > 0 && free_bytes < (was ? recovered * below : below);
}
