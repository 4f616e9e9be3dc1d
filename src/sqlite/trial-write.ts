import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { writeTroubleOf } from './fault.ts';
import { withinQuota } from './quota.ts';

/** Tells whether a file takes a small write now, which changes nothing: there is room, and nobody else holds the lock. */
export function takesWrites(path: string): boolean {
  if (!existsSync(path)) return true;
  const db = new Database(path, { timeout: 0 });
  try {
    withinQuota(path, () => {
      db.exec('BEGIN IMMEDIATE');
      db.pragma(`user_version = ${Number(db.pragma('user_version', { simple: true }))}`);
      db.exec('COMMIT');
    });
    return true;
  } catch (error) {
    if (writeTroubleOf(error) === null) throw error;
    return false;
  } finally {
    db.close();
  }
}
