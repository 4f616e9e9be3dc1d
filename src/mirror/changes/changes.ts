import type { ChangeKind } from '../../domain/changes/change.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import type { Database } from '../../sqlite/database-file.ts';

/** Which read found a change: when it was sent, and why it was made. */
export interface FoundBy {
  readonly sent_at: number;
  readonly reason: DueReason;
}

export interface FoundChange {
  readonly product_id: number;
  readonly kind: ChangeKind;
  readonly language?: string;
  readonly date?: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** One change of a date, as `explain` tells its history. */
export interface DateChange {
  readonly at: number;
  readonly kind: ChangeKind;
  readonly reason: DueReason | null;
  readonly detail: { readonly currency: string; readonly old: unknown; readonly new: unknown };
}

/** The change feed: written in the transaction of the change itself. */
export interface ChangeTable {
  add(change: FoundChange, by: FoundBy): void;
  /** How many were added through this connection, committed or not. */
  added(): number;
  /** The newest number that was given out. */
  newest(): number;
  /** Forgets what is older than an instant; a reader with a cursor below what is left has to start again. */
  prune(before: number): number;
  /** What happened to a date of a product, in order. */
  ofDate(product_id: number, date: string): DateChange[];
}

/** Which numbers may be given out: made durable in another file before the commit that does it. */
export interface FeedCeiling {
  ceiling(): number;
  reserve(ceiling: number): void;
}

/** So many numbers are reserved at a time: one commit of the inbox for each. */
const block = 10_000;

/** For a mirror that nothing outlives. */
export const noCeiling: FeedCeiling = { ceiling: () => Number.POSITIVE_INFINITY, reserve: () => undefined };

export function changeTable(db: Database, feed: FeedCeiling = noCeiling): ChangeTable {
  const insert = db.prepare(
    `INSERT INTO change (at, product_id, kind, language, date, detail, reason)
     VALUES (@at, @product_id, @kind, @language, @date, @detail, @reason)`,
  );
  const newest = db.prepare<[number], number | null>('SELECT max(+seq) FROM change WHERE at < ?').pluck();
  const given = givenOut(db);
  const drop = db.prepare<[number]>('DELETE FROM change WHERE seq <= ?');
  const raiseFloor = db.prepare<[number]>('UPDATE mirror SET feed_floor_seq = max(feed_floor_seq, ?)');
  const ofDate = db.prepare<[number, string], Omit<DateChange, 'detail'> & { detail: string }>(
    'SELECT at, kind, reason, detail FROM change WHERE product_id = ? AND date = ? ORDER BY seq',
  );
  let added = 0;
  return {
    added: () => added,
    newest: () => given.get() ?? 0,
    add: ({ product_id, kind, language = null, date = null, detail }, { sent_at, reason }) => {
      added += 1;
      const row = { at: sent_at, product_id, kind, language, date, detail: JSON.stringify(detail), reason };
      const seq = Number(insert.run(row).lastInsertRowid);
      if (seq > feed.ceiling()) feed.reserve(seq + block);
    },
    prune: (before) => {
      const last = newest.get(before) ?? null;
      if (last === null) return 0;
      raiseFloor.run(last);
      return drop.run(last).changes;
    },
    ofDate: (product_id, date) =>
      ofDate.all(product_id, date).map((row) => ({ ...row, detail: JSON.parse(row.detail) as DateChange['detail'] })),
  };
}

/** The newest number that the feed of a mirror has given out; 0: none yet. */
export function newestSeq(db: Database): number {
  return givenOut(db).get() ?? 0;
}

function givenOut(db: Database) {
  return db.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'change'").pluck();
}
