import { statSync } from 'node:fs';
import Database from 'better-sqlite3';

export type { Database, Statement } from 'better-sqlite3';

/** Opens a file that another process writes: read-only, and for two seconds patient while the other one opens or recovers it. */
export function openReadOnly(path: string): Database.Database {
  return new Database(path, { readonly: true, fileMustExist: true, timeout: 2000 });
}

/** Which file stands at a path, to notice that another one took its place; null: none does. By path only: a descriptor of our own would drop SQLite's locks when it is closed. */
export function fileAt(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** SQLite's own name for what went wrong, like SQLITE_BUSY_RECOVERY; '' for any other error. */
export function sqliteCode(error: unknown): string {
  return error instanceof Database.SqliteError ? error.code : '';
}
