import Database from 'better-sqlite3';

/** Marks a mirror or an inbox as one that the last development version left: with its ids, and as many steps as it had. */
export function ofDevelopment(path: string, kind: 'mirror' | 'inbox'): void {
  const db = new Database(path);
  const [id, steps] = kind === 'mirror' ? [0x43544c47, 45] : [0x43544c49, 9];
  db.pragma(`application_id = ${id}`);
  db.pragma(`user_version = ${steps}`);
  db.pragma('journal_mode = WAL');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}
