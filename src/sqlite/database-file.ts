import { chmodSync, closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import Database from 'better-sqlite3';
import { CataloguedError, exitCodes } from '../errors.ts';
import { reasonOf } from './directory.ts';

export type { Database } from 'better-sqlite3';

/** One of the program's two files: what marks it as ours, and how it came to be. */
export interface FileKind {
  readonly name: string;
  readonly application_id: number;
  /** The directory of numbered, forward-only SQL files; the last number is the schema's version. */
  readonly migrations: URL;
  /** 0660 for the mirror: storefronts of the same group create its -wal and -shm with the file's mode. */
  readonly mode: number;
  readonly wal_autocheckpoint: number;
  /** Of a file that is made now: whether its free pages can be given back. */
  readonly auto_vacuum?: 'incremental';
}

/**
 * Opens a file for writing, makes it where there is none, and brings its schema up to date. A file that is foreign,
 * newer, damaged, or empty where a backup exists is refused untouched (65); one we may not write (77). Another program
 * that is writing it is waited for, also afterwards (`waitForLocks`), and refused after five seconds (75).
 */
export function openForWriting(
  path: string,
  kind: FileKind,
  { backups = [] as readonly string[] } = {},
): Database.Database {
  const steps = migrationsOf(kind);
  const version = existsSync(path) ? storedVersion(path, kind, backups, steps.length) : createFile(path, kind);
  const db = guarded(path, () => new Database(path, { timeout: 5000 }));
  try {
    guarded(path, () => {
      // Before anything is written; without an effect on a file that has tables.
      if (kind.auto_vacuum !== undefined) db.pragma(`auto_vacuum = ${kind.auto_vacuum}`);
      db.pragma('journal_mode = WAL');
      // Set before the first write: better-sqlite3 is compiled to fall back to NORMAL, which loses commits on power loss.
      db.pragma('synchronous = FULL');
      db.pragma('foreign_keys = ON');
      db.pragma('trusted_schema = OFF');
      db.pragma('mmap_size = 0');
      db.pragma('journal_size_limit = 67108864');
      db.pragma(`wal_autocheckpoint = ${kind.wal_autocheckpoint}`);
      migrate(db, kind, steps, version);
      assertPragmas(db, kind);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a file as a storefront would: read-only, whatever the daemon does meanwhile. */
export function openForReading(path: string, kind: FileKind): Database.Database {
  if (!existsSync(path)) {
    throw new CataloguedError('no-mirror', `there is no ${kind.name} at ${path}`, {
      exitCode: exitCodes.data,
      hint: 'start the daemon (catalogued run) or fill it once (catalogued resync --all --wait)',
    });
  }
  storedVersion(path, kind, [], migrationsOf(kind).length);
  return guarded(path, () => new Database(path, { readonly: true, fileMustExist: true, timeout: 2000 }));
}

/** How long a statement waits, and blocks the event loop, while another program writes: milliseconds, 0 for not at all. */
export function waitForLocks(db: Database.Database, ms: number): void {
  db.pragma(`busy_timeout = ${ms}`);
}

/** The version of SQLite that this program brings along. */
export function sqliteVersion(): string {
  const db = new Database(':memory:');
  try {
    return String(db.prepare('SELECT sqlite_version()').pluck().get());
  } finally {
    db.close();
  }
}

/** What a check of the whole file finds wrong: nothing, or its first problem. */
export function quickCheck(db: Database.Database): string | null {
  const answer = db.pragma('quick_check(1)', { simple: true });
  return answer === 'ok' ? null : String(answer);
}

/** The size of a file's write-ahead log in bytes: 0 where there is none. */
export function walSizeOf(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

export function damaged(path: string, what: string, cause?: unknown): CataloguedError {
  return new CataloguedError('damaged', `${path} is damaged: ${what}`, {
    exitCode: exitCodes.data,
    hint: `move it aside with its -wal and -shm (mv ${path}* elsewhere/) and start again: the mirror is filled anew`,
    cause,
  });
}

function createFile(path: string, { mode }: FileKind): number {
  try {
    closeSync(openSync(path, 'wx', mode));
    chmodSync(path, mode);
    return 0;
  } catch (error) {
    throw permission(path, error);
  }
}

/** The schema version of an existing file of ours, read without changing a byte of it. */
function storedVersion(path: string, kind: FileKind, backups: readonly string[], newest: number): number {
  if (statSync(path).size === 0) {
    if (backups.length === 0) return 0;
    throw damaged(
      path,
      `it is empty, and there is a backup (${basename(backups.at(-1) ?? '')}), so this is no first run`,
    );
  }
  const db = guarded(path, () => new Database(path, { readonly: true, fileMustExist: true, timeout: 5000 }));
  try {
    const [id, version, tables] = guarded(path, () => [
      Number(db.pragma('application_id', { simple: true })),
      Number(db.pragma('user_version', { simple: true })),
      Number(db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get()),
    ]) as [number, number, number];
    if (id === 0 && version === 0 && tables === 0) return 0;
    if (id !== kind.application_id) {
      throw new CataloguedError('foreign-file', `${path} is a database, but not a ${kind.name} of catalogued`, {
        exitCode: exitCodes.data,
        hint: 'name another path, or move that file elsewhere',
      });
    }
    if (version > newest) {
      throw new CataloguedError(
        'newer-file',
        `${path} was written by a newer catalogued (schema ${version}, this one knows ${newest})`,
        {
          exitCode: exitCodes.data,
          hint: 'install that version again, or restore a backup made before the upgrade',
        },
      );
    }
    return version;
  } finally {
    db.close();
  }
}

/** The version of the schema that this program writes. */
export function schemaVersion(kind: FileKind): number {
  return migrationsOf(kind).length;
}

function migrationsOf({ migrations }: FileKind): string[] {
  const names = readdirSync(migrations).filter((name) => /^\d{4}-.*\.sql$/.test(name));
  return names.sort().map((name) => readFileSync(new URL(name, migrations), 'utf8'));
}

/** Runs what is missing in one transaction, which also is the first write of a new file. */
function migrate(db: Database.Database, kind: FileKind, steps: readonly string[], version: number): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const step of steps.slice(version)) db.exec(step);
    db.pragma(`application_id = ${kind.application_id}`);
    db.pragma(`user_version = ${steps.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Read back after the first write: on a new file `synchronous` answers 2 before it and 1 after, unless set. */
function assertPragmas(db: Database.Database, kind: FileKind): void {
  const wanted: Readonly<Record<string, string | number>> = {
    journal_mode: 'wal',
    synchronous: 2,
    foreign_keys: 1,
    mmap_size: 0,
    wal_autocheckpoint: kind.wal_autocheckpoint,
    application_id: kind.application_id,
  };
  for (const [name, value] of Object.entries(wanted)) {
    const found = db.pragma(name, { simple: true }) ?? 0;
    if (found !== value) throw new Error(`${db.name}: PRAGMA ${name} is ${String(found)}, must be ${value}`);
  }
}

function guarded<Result>(path: string, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    const code = error instanceof Database.SqliteError ? error.code : '';
    if (code === 'SQLITE_NOTADB') throw damaged(path, 'it is not a SQLite file', error);
    if (code.startsWith('SQLITE_CORRUPT')) throw damaged(path, (error as Error).message, error);
    if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) throw permission(path, error);
    if (code.startsWith('SQLITE_BUSY')) throw locked(path, error);
    if (/^SQLITE_(FULL|IOERR)/.test(code)) {
      throw new CataloguedError('io', `cannot write ${path}: ${(error as Error).message}`, {
        exitCode: exitCodes.io,
        hint: 'free space on that disk and check its health',
        cause: error,
      });
    }
    throw error;
  }
}

function locked(path: string, cause: unknown): CataloguedError {
  return new CataloguedError('locked', `another program is writing ${path}`, {
    exitCode: exitCodes.retryLater,
    hint: `end its transaction, or that program (fuser ${path} names it), then start again`,
    cause,
  });
}

function permission(path: string, error: unknown): CataloguedError {
  return new CataloguedError(
    'permission',
    `cannot write ${path}: ${error instanceof Database.SqliteError ? error.message : reasonOf(error)}`,
    {
      exitCode: exitCodes.permission,
      hint: 'give this user write permission on the file and its directory',
      cause: error,
    },
  );
}
