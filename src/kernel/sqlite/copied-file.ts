import { chmodSync } from 'node:fs';
import Database from 'better-sqlite3';
import { addTriggers } from './database-file.ts';

/**
 * Opens a copy of a file of ours for writing, as it is: its schema is that of the program that made it, and stays so. Triggers
 * that another program's schema brings along may do nothing but write. `triggers` are made for this connection alone.
 */
export function openCopied(path: string, triggers: readonly URL[] = []): Database.Database {
  const db = new Database(path, { fileMustExist: true, timeout: 5000 });
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  // Rows come in the order in which they changed last: a child may come before its parent.
  db.pragma('foreign_keys = OFF');
  db.pragma('trusted_schema = OFF');
  db.pragma('journal_size_limit = 67108864');
  addTriggers(db, triggers);
  return db;
}

/** Replaces the contents of a file with another's in one transaction: a reader sees the old contents, then the new. */
export async function replaceContents(path: string, by: string): Promise<void> {
  const from = new Database(by, { readonly: true, fileMustExist: true });
  try {
    // All pages in one step: there is nobody else to let through.
    await from.backup(path, { progress: () => 2 ** 31 - 1 });
  } finally {
    from.close();
  }
}

/** Gives a new file the mode of a mirror, independent of the umask. */
export function openToGroup(path: string): void {
  chmodSync(path, 0o660);
}
