import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { noteOf } from '../sqlite/identity.ts';

/** A process that has the mirror open. */
export interface OpenIn {
  readonly pid: number;
  readonly program: string;
  /** True: it is in the middle of a read, which SQLite marks by a lock on the -shm. */
  readonly reading: boolean;
}

/** SQLite's read marks in the -shm: five slots (wal.c, WAL_READ_LOCK). */
const readMarks = { first: 123, last: 127 };

/** Returns the processes that have the file or its -wal open, as far as this user can see; null without /proc. */
export function openIn(path: string): OpenIn[] | null {
  let pids: string[];
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  } catch {
    return null;
  }
  const files = new Set([path, `${path}-wal`, `${path}-shm`]);
  const reading = readersOf(path);
  return pids
    .filter((pid) => reading.has(Number(pid)) || filesOf(pid).some((file) => files.has(file)))
    .map((pid) => ({ pid: Number(pid), program: programOf(pid), reading: reading.has(Number(pid)) }));
}

function filesOf(pid: string): string[] {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).map((name) => {
      try {
        return readlinkSync(`${directory}/${name}`);
      } catch {
        // The file was closed meanwhile.
        return '';
      }
    });
  } catch {
    // The process has ended, or belongs to another user.
    return [];
  }
}

function programOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return 'a process that has ended';
  }
}

/**
 * Returns the processes with a read mark, from lines in /proc/locks like `3: POSIX ADVISORY READ 812 08:01:131 124
 * 124`.
 */
function readersOf(path: string): Set<number> {
  const note = noteOf(`${path}-shm`);
  if (note === null) return new Set();
  const lines = locks().matchAll(/^\d+: POSIX +ADVISORY +READ +(\d+) [\da-f]+:[\da-f]+:(\d+) (\d+) (\d+|EOF)$/gm);
  return new Set(
    [...lines]
      .filter(
        ([, , ino, from]) => ino === note.inode && Number(from) >= readMarks.first && Number(from) <= readMarks.last,
      )
      .map(([, pid]) => Number(pid)),
  );
}

function locks(): string {
  try {
    return readFileSync('/proc/locks', 'utf8');
  } catch {
    return '';
  }
}
