import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { closeLeavingLog } from './database-file.ts';
import { faultOf, writeTroubleOf } from './fault.ts';
import { withinQuota } from './quota.ts';

/**
 * Returns whether a file takes a small write now, which changes nothing: there is room, nobody else holds the lock, and the
 * file system is not read-only.
 */
export function takesWrites(path: string): boolean {
  if (!existsSync(path)) return true;
  try {
    const db = new Database(path, { timeout: 0 });
    using _ = { [Symbol.dispose]: () => closeLeavingLog(db) };
    withinQuota(path, () => {
      db.exec('BEGIN IMMEDIATE');
      db.pragma(`user_version = ${Number(db.pragma('user_version', { simple: true }))}`);
      db.exec('COMMIT');
    });
    return true;
  } catch (error) {
    if (writeTroubleOf(error) === null && faultOf(error) !== 'no-access') throw error;
    return false;
  }
}
