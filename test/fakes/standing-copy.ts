import Database from 'better-sqlite3';
import { withClock } from './mirror-at.ts';

/**
 * Copies a mirror to `path`, where time stands still at `now`: whoever opens the copy, in whatever language and whenever,
 * sees what its views showed then.
 */
export function standingCopy(source: string, path: string, now: number): void {
  const mirror = new Database(source, { readonly: true });
  mirror.prepare('VACUUM INTO ?').run(path);
  mirror.close();
  const db = new Database(path);
  const instant = new Date(now).toISOString().slice(0, -1);
  const views = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_schema WHERE type = 'view'")
    .all();
  for (const { name, sql } of views) db.exec(`DROP VIEW ${name}; ${withClock(sql, `'${instant}'`)}`);
  db.close();
}
