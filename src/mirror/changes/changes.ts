import type { ChangeKind } from '../../domain/changes/change.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import { type Bound, pick, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

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

/** What is asked about changes. */
export interface ChangeReads {
  /** Returns the newest number that the feed has given out; 0: none yet. */
  newest(): number;
  /** Returns what happened to a date of a product, in order. */
  ofDate(product_id: number, date: string): DateChange[];
}

/** The change feed: written in the transaction of the change itself. */
export interface ChangeTable extends ChangeReads {
  add(change: FoundChange, by: FoundBy): void;
  /** Returns how many were added through this connection, committed or not. */
  added(): number;
  /** Forgets what is older than an instant; a reader with a cursor below what is left has to start again. */
  prune(before: number): number;
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

type Row = Tables['change'];

export function changeReads(db: Reads): ChangeReads {
  const newest = db.values(() => query.selectFrom('sqlite_sequence').select('seq').where('name', '=', 'change'));
  const ofDate = db.rows(({ product_id, date }: Bound<{ product_id: number; date: string }>) =>
    query
      .selectFrom('change')
      .select(['at', 'kind', 'reason', 'detail'])
      .where('product_id', '=', product_id)
      .where('date', '=', date)
      .orderBy('seq'),
  );
  return {
    newest: () => newest.get() ?? 0,
    ofDate: (product_id, date) =>
      ofDate
        .all({ product_id, date })
        .map((row) => ({ ...row, detail: JSON.parse(row.detail) as DateChange['detail'] })),
  };
}

const columns = ['at', 'product_id', 'kind', 'language', 'date', 'detail', 'reason'] as const;

export function changeTable(db: Writes, feed: FeedCeiling = noCeiling): ChangeTable {
  const insert = db.change((change: Bound<Pick<Row, (typeof columns)[number]>>) =>
    query.insertInto('change').values(pick(change, columns)),
  );
  let added = 0;
  return {
    ...changeReads(db),
    added: () => added,
    add: ({ product_id, kind, language = null, date = null, detail }, { sent_at, reason }) => {
      added += 1;
      const row = { at: sent_at, product_id, kind, language, date, detail: JSON.stringify(detail), reason };
      const seq = Number(insert.run(row).lastInsertRowid);
      if (seq > feed.ceiling()) feed.reserve(seq + block);
    },
    prune: pruning(db),
  };
}

function pruning(db: Writes): ChangeTable['prune'] {
  // Of few rows, by their instants: not by the order of the numbers.
  const lastBefore = db.values(({ before }: Bound<{ before: number }>) =>
    query
      .selectFrom('change')
      .select(sql<number | null>`max(+${sql.ref('seq')})`.as('seq'))
      .where('at', '<', before),
  );
  const drop = db.change(({ last }: Bound<{ last: number }>) => query.deleteFrom('change').where('seq', '<=', last));
  const raiseFloor = db.change(({ last }: Bound<{ last: number }>) =>
    query.updateTable('mirror').set(({ fn }) => ({ feed_floor_seq: fn<number>('max', ['feed_floor_seq', last]) })),
  );
  return (before) => {
    const last = lastBefore.get({ before }) ?? null;
    if (last === null) return 0;
    raiseFloor.run({ last });
    return drop.run({ last }).changes;
  };
}
