import { join } from 'node:path';
import Database from 'better-sqlite3';
import { instant } from '../../src/kernel/clock.ts';
import { openInbox } from '../../src/receiver/inbox.ts';

export interface Verdict {
  /** Acknowledged deliveries that are not there. */
  readonly lost: number;
  /** What is wrong with the file; null: nothing. */
  readonly damage: string | null;
}

/** Starts on the inbox that a receiver has left behind, and looks for everything that was acknowledged. */
export function verify(directory: string, acknowledged: ReadonlySet<number>): Verdict {
  const path = join(directory, 'inbox.db');
  openInbox(path, { master: null, now: instant(0) })[Symbol.dispose]();
  return verifyFile(path, acknowledged);
}

/** The same of a file as it lies there, which also recovers it. */
export function verifyFile(path: string, acknowledged: ReadonlySet<number>): Verdict {
  const db = new Database(path);
  try {
    const integrity = String(db.pragma('integrity_check', { simple: true }));
    if (integrity !== 'ok') return { lost: 0, damage: integrity };
    const made = db.prepare<[], number>(`SELECT count(*) FROM sqlite_schema WHERE name = 'delivery'`).pluck().get();
    if (made === 0) return { lost: acknowledged.size, damage: null };
    const stored = new Set(
      db.prepare<[], number>(`SELECT json_extract(CAST(body AS TEXT), '$.id') FROM delivery`).pluck().all(),
    );
    return { lost: [...acknowledged].filter((id) => !stored.has(id)).length, damage: halfCommit(db) };
  } catch (error) {
    return { lost: 0, damage: String(error) };
  } finally {
    db.close();
  }
}

/** A commit writes its deliveries, the last number and the subscription's last delivery: all of them, or none. */
function halfCommit(db: Database.Database): string | null {
  const row = db
    .prepare<[], { rows: number; highest: number; last_number: number; agrees: number }>(
      `SELECT count(*) AS rows, coalesce(max(delivery_id), 0) AS highest,
         coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'delivery'), 0) AS last_number,
         (SELECT received_at FROM last_delivery) IS (SELECT received_at FROM delivery ORDER BY delivery_id DESC LIMIT 1) AS agrees
       FROM delivery`,
    )
    .get();
  if (row === undefined || row.rows !== row.highest || row.highest !== row.last_number || row.agrees !== 1)
    return `half a commit: ${JSON.stringify(row)}`;
  return null;
}
