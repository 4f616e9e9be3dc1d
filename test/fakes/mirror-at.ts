import type Database from 'better-sqlite3';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';

/**
 * Opens a mirror as a reader whose clock shows `now`: every view judges by that instant instead of the machine's. The
 * views are those of the file, with nothing but their clock replaced, as temporary views of the same names.
 */
export function openMirrorAt(path: string, now: number): Database.Database {
  return shownAt(openMirrorForReading(path), now);
}

/** Replaces the clock of an open mirror, of any version, in the same way. */
export function shownAt(db: Database.Database, now: number): Database.Database {
  const views = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
    .all();
  const instant = new Date(now).toISOString().slice(0, -1);
  for (const { name, sql } of views) {
    const body = sql.slice(sql.indexOf(' AS') + 3);
    db.exec(`CREATE TEMP VIEW ${name} AS ${withClock(body, `'${instant}'`)}`);
  }
  return db;
}

/** The same with a clock that goes: every question is answered by the instant that was set last. */
export function openMirrorWithClock(path: string): { readonly db: Database.Database; set(now: number): void } {
  const db = openMirrorForReading(path);
  db.exec("CREATE TEMP TABLE reader_clock (instant TEXT); INSERT INTO reader_clock VALUES ('now')");
  const set = db.prepare<[string]>('UPDATE reader_clock SET instant = ?');
  const views = db
    .prepare<[], { name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
    .all();
  for (const { name, sql } of views) {
    const body = sql.slice(sql.indexOf(' AS') + 3);
    db.exec(`CREATE TEMP VIEW ${name} AS ${withClock(body, '(SELECT instant FROM temp.reader_clock)')}`);
  }
  return {
    db,
    set: (now) => {
      set.run(new Date(now).toISOString().slice(0, -1));
    },
  };
}

/** Returns the SQL of a view that asks the clock, with an expression for a UTC timestamp in the clock's place. */
export function withClock(view: string, timestamp: string): string {
  return view.replaceAll("'now'", timestamp).replaceAll('unixepoch()', `unixepoch(${timestamp})`);
}
