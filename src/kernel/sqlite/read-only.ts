import Database from 'better-sqlite3';

export type { Database, Statement } from 'better-sqlite3';

/** Opens a file that another process writes: read-only, and for two seconds patient while the other one opens or recovers it. */
export function openReadOnly(path: string): Database.Database {
  return new Database(path, { readonly: true, fileMustExist: true, timeout: 2000 });
}

/** The library by which the daemon and its threads read: never two of them on one file in one process. */
export { default as sqliteLibrary } from 'better-sqlite3';
