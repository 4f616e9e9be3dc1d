import Database from 'better-sqlite3';
import type { Postgres } from '../../../src/copies/postgres/connect.ts';
import { ownTables, publishedTables } from '../../../src/feed/capture.store.ts';
import type { Instance } from './stage.ts';

/* What instances and their database have at the end of a course. */

/** Up to which number an instance's mirror has applied deliveries, by itself or by whom it followed, and how many wait. */
export function appliedIn({ mirror, inbox }: Instance): { last: number; waiting: number } {
  const one = (path: string, sql: string) => {
    const db = new Database(path, { readonly: true });
    try {
      return Number(db.prepare(sql).pluck().get());
    } finally {
      db.close();
    }
  };
  return {
    last: one(mirror, 'SELECT last_delivery_id FROM _mirror'),
    waiting: one(inbox, "SELECT count(*) FROM delivery WHERE state = 'waiting'"),
  };
}

/** The tables in which two mirrors differ. */
export function differing(one: string, other: string): string[] {
  return differingIn([...publishedTables, ...ownTables], one, other);
}

/** The tables that readers need in which a mirror and a copy for readers differ. */
export function showingOtherwise(mirror: string, copy: string): string[] {
  return differingIn(publishedTables, mirror, copy);
}

function differingIn(tables: readonly string[], one: string, other: string): string[] {
  const [ours, theirs] = [one, other].map((path) => {
    const db = new Database(path, { readonly: true });
    try {
      return new Map(tables.map((table) => [table, rowsIn(db, table)]));
    } finally {
      db.close();
    }
  }) as [Map<string, string>, Map<string, string>];
  return [...ours].filter(([table, rows]) => theirs.get(table) !== rows).map(([table]) => table);
}

function rowsIn(db: Database.Database, table: string): string {
  const rows = db.prepare(`SELECT * FROM ${table}`).raw().all();
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .join('\n');
}

/** Which of these deliveries the database does not have. */
export async function missingInDatabase(database: Postgres, acknowledged: readonly number[]): Promise<number[]> {
  const rows = await database.query<{ body: Buffer }>('SELECT body FROM _delivery');
  return missing(rows, acknowledged);
}

/** Which of these deliveries an instance has not copied, as a leader does. */
export function missingInInbox({ inbox }: Instance, acknowledged: readonly number[]): number[] {
  const db = new Database(inbox, { readonly: true });
  try {
    // Small ones are stored as they came.
    return missing(db.prepare<[], { body: Buffer }>('SELECT body FROM delivery').all(), acknowledged);
  } finally {
    db.close();
  }
}

function missing(rows: readonly { readonly body: Buffer }[], acknowledged: readonly number[]): number[] {
  const found = new Set(rows.map(({ body }) => (JSON.parse(body.toString()) as { n: number }).n));
  return acknowledged.filter((n) => !found.has(n));
}

/** All changes that a mirror tells, as the admin interface writes them. */
export function changesIn({ mirror }: Instance): string[] {
  const db = new Database(mirror, { readonly: true });
  try {
    const rows = db.prepare<[], { detail: string }>('SELECT * FROM changes ORDER BY seq').all();
    return rows.map((row) => JSON.stringify({ ...row, detail: JSON.parse(row.detail) }));
  } finally {
    db.close();
  }
}
