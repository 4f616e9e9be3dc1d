import { constants } from 'node:os';

/** Kind of error that SQLite reports, as far as the program's decisions depend on it. */
export type Fault =
  /** Nothing can be stored until space is freed. */
  | 'disk-full'
  /** Another connection is writing, or keeps the file from being written. */
  | 'locked'
  /** Another process is opening or recovering the file, and does not finish. */
  | 'contended'
  /** The disk did not make written data durable: fatal (`SyncFailed`). */
  | 'sync'
  | 'io'
  | 'damaged'
  | 'not-a-database'
  | 'no-access';

/** The first that matches counts. */
const faults: readonly (readonly [code: RegExp, fault: Fault])[] = [
  // SHMSIZE is SQLite's name for a lack of space for its shared index.
  [/^SQLITE_(FULL|IOERR_SHMSIZE)$/, 'disk-full'],
  [/^SQLITE_BUSY/, 'locked'],
  [/^SQLITE_PROTOCOL/, 'contended'],
  [/^SQLITE_IOERR_(DIR_)?FSYNC$/, 'sync'],
  [/^SQLITE_IOERR/, 'io'],
  [/^SQLITE_CORRUPT/, 'damaged'],
  [/^SQLITE_NOTADB/, 'not-a-database'],
  [/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/, 'no-access'],
];

/** Classifies an error by SQLite's code for it; null: it is none of SQLite's, or a mistake in a statement. */
export function faultOf(error: unknown): Fault | null {
  const code = sqliteCode(error);
  if (code === '') return null;
  return faults.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}

/** The file cannot be written just now; null: it is something that does not pass by itself, a failed fsync above all. */
export function writeTroubleOf(error: unknown): 'disk-full' | 'locked' | null {
  const fault = faultOf(error);
  return fault === 'disk-full' || fault === 'locked' ? fault : null;
}

/** Returns whether what stands in the file is destroyed. */
export function isDamage(error: unknown): boolean {
  const fault = faultOf(error);
  return fault === 'damaged' || fault === 'not-a-database';
}

/**
 * Returns whether a read may be tried again at once: the log is being recovered, or the side files or the schema are
 * changing.
 */
export function isTransient(error: unknown): boolean {
  return /^SQLITE_(READONLY_(RECOVERY|CANTINIT|CANTLOCK)|BUSY_(RECOVERY|SNAPSHOT)|CANTOPEN|SCHEMA|PROTOCOL)/.test(
    sqliteCode(error),
  );
}

/** SQLite's own name for what went wrong, like SQLITE_BUSY_RECOVERY; '' for any other error. */
export function sqliteCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

/** Returns whether the system or SQLite says that there is no room: on the disk, or within the limits of this user. */
export function isWithoutRoom(error: unknown): boolean {
  if (faultOf(error) === 'disk-full') return true;
  // Node has no name for EDQUOT: its `code` would be "Unknown system error -122".
  const { errno = 0 } = error as NodeJS.ErrnoException;
  const { ENOSPC, EDQUOT, EFBIG } = constants.errno;
  return [ENOSPC, EDQUOT, EFBIG].includes(-errno);
}

/** For a disk that fails. One without space is `disk-full`: nobody is sent to free space for anything else. */
export const failedDiskHint = 'check the health of that disk: dmesg shows what the system reports of it';
