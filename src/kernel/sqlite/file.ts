import { closeSync, openSync, readSync, statSync } from 'node:fs';

/**
 * Returns which file stands at a path, to notice that another one took its place; null: none does. By path only: a
 * descriptor of our own would drop SQLite's locks when it is closed.
 */
export function fileAt(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** CATU and CATI: the marks of a mirror and of an inbox. */
const ourMarks = new Set([0x43415455, 0x43415449]);

/**
 * Returns whether a file that is no database was one of ours: its beginning is zeros or one byte over and over, or still
 * has our mark. By its own bytes, and so only for a file that SQLite has just refused: nobody of this process has it
 * open.
 */
export function wasOurs(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const header = Buffer.alloc(100);
  const file = openSync(path, 'r');
  try {
    if (readSync(file, header) < header.length) return false;
  } finally {
    closeSync(file);
  }
  const wiped = header[0] === 0 || header[0] === 0xff;
  return (wiped && header.every((byte) => byte === header[0])) || ourMarks.has(header.readUInt32BE(68));
}
