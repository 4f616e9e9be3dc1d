import type { Instant } from '../../clock.ts';
import { type ChangeKind, isNewer, noProduct } from '../../domain/changes/change.ts';
import type { DueReason } from '../../domain/schedule/record.ts';
import { type Bound, pick, type Reads, Store, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

/** The read that found a change: the instant at which it was sent, and its reason. */
export interface FoundBy {
  readonly sent_at: Instant;
  readonly reason: DueReason;
}

export interface FoundChange {
  readonly product_id: number;
  readonly kind: ChangeKind;
  readonly language?: string;
  readonly date?: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** One change of a date, as `explain` prints its history: of itself, or of all dates of its product. */
export interface DateChange {
  readonly at: Instant;
  readonly kind: ChangeKind;
  readonly reason: DueReason | null;
  /** `currency`: absent from a change of all dates. */
  readonly detail: { readonly currency?: string; readonly old?: unknown; readonly new?: unknown };
}

/** Kinds that announce all dates of a product, whose row in the feed has no date. */
const ofAllDates = [
  'sale_disabled', 'sale_enabled', 'dates_withheld', 'dates_released', 'product_withdrawn', 'product_returned',
] as const satisfies ChangeKind[]; // biome-ignore format: a list of kinds

/** Queries about changes. */
export interface ChangeReads {
  /** Returns the newest number that the feed has given out; 0: none yet. */
  newest(): number;
  /** Returns what happened to a date of a product, and to all its dates, in order. */
  ofDate(product_id: number, date: string): DateChange[];
}

/** The change feed: written in the transaction of the change itself. */
export interface ChangeTable extends ChangeReads {
  /** Adds a change. Until the mirror is filled, changes of the newer kinds are ignored. */
  add(change: FoundChange, by: FoundBy): void;
  /** Returns whether the mirror is filled, so that what is read for the first time is a change. */
  tellsFirstReads(): boolean;
  /** Has readers see changes up to a number, where they see no more than what is published. */
  tell(newest: number): void;
  /** Returns how many were added or reported through this connection, committed or not. */
  added(): number;
  /** Returns whether changes were added since the last sync cycle ended; false while the mirror is being filled. */
  isPassOpen(): boolean;
  /**
   * Ends the sync cycle: records which changes were added since the end of the last one, by any writer. Adds nothing if
   * there are none. Only the feed itself is asked, so what a kill left open ends later.
   */
  completePass(now: Instant): void;
  /**
   * Forgets what is older than an instant, and the oldest beyond a number of bytes; a reader with a cursor below what is
   * left has to start again.
   */
  prune(before: Instant, bytes?: number): number;
}

/** Upper limit of the numbers that may be given out. It is made durable in another file before the commit that uses them. */
export interface FeedCeiling {
  ceiling(): number;
  reserve(ceiling: number): void;
}

/** So many numbers are reserved at a time: one commit of the inbox for each. */
const block = 10_000;

/** For a mirror that nothing outlives. */
export const noCeiling: FeedCeiling = { ceiling: () => Number.POSITIVE_INFINITY, reserve: () => undefined };

type Row = Tables['_change'];

export function changeReads(db: Reads): ChangeReads {
  const newest = db.values(() => query.selectFrom('sqlite_sequence').select('seq').where('name', '=', '_change'));
  const ofDate = db.rows(({ product_id, date }: Bound<{ product_id: number; date: string }>) =>
    query
      .selectFrom('_change')
      .select(['at', 'kind', 'reason', 'detail'])
      .where('product_id', '=', product_id)
      .where((of) => of.or([of('date', '=', date), of.and([of('date', 'is', null), of('kind', 'in', ofAllDates)])]))
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

/** Bytes of a row beside its texts: the number, instant and product, and its place in the indexes. */
const rowBytes = 64;

type Written = Pick<Row, (typeof columns)[number]>;

export function changeTable(db: Writes, feed: FeedCeiling = noCeiling): ChangeTable {
  const insert = db.change((change: Bound<Written & { bytes: number }>) =>
    query.insertInto('_change').values(({ selectFrom }) => {
      const last = selectFrom('_change').select('total_bytes').orderBy('seq', 'desc').limit(1);
      return { ...pick(change, columns), total_bytes: sql<number>`coalesce(${last}, 0) + ${change.bytes}` };
    }),
  );
  const filled = db.values(() => query.selectFrom('_mirror').select('filled_at').where('filled_at', 'is not', null));
  const tellsFirstReads = () => filled.get() !== undefined;
  const openPass = unended(db);
  const tell = db.change(({ newest }: Bound<{ newest: number }>) =>
    query.updateTable('_row_feed').set({ last_seq: newest }).where('last_seq', '<', newest),
  );
  let added = 0;

  function write(row: Written): void {
    added += 1;
    const seq = Number(insert.run({ ...row, bytes: rowBytes + row.kind.length + row.detail.length }).lastInsertRowid);
    if (seq > feed.ceiling()) feed.reserve(seq + block);
  }

  return {
    ...changeReads(db),
    tell: (newest) => {
      added += tell.run({ newest }).changes;
    },
    added: () => added,
    tellsFirstReads,
    add: ({ product_id, kind, language = null, date = null, detail }, { sent_at, reason }) => {
      if (isNewer(kind) && !tellsFirstReads()) return;
      write({ at: sent_at, product_id, kind, language, date, detail: JSON.stringify(detail), reason });
    },
    isPassOpen: () => openPass() !== null,
    completePass: (now) => {
      const pass = openPass();
      if (pass === null) return;
      const of = { product_id: noProduct, kind: 'pass_completed', language: null, date: null, reason: null } as const;
      write({ ...of, at: now, detail: JSON.stringify(pass) });
    },
    prune: pruning(db),
  };
}

/** Returns the numbers of the changes that no pass has ended yet. */
function unended(db: Reads): () => { readonly from: number; readonly to: number } | null {
  const newest = db.rows(() => query.selectFrom('_change').select(['seq', 'kind']).orderBy('seq', 'desc').limit(1));
  const bounds = db.rows(() =>
    query
      .selectFrom('_mirror')
      .select(({ fn, lit, selectFrom }) => {
        const ended = selectFrom('_change').select('seq').where('kind', '=', 'pass_completed').orderBy('seq', 'desc');
        return ['feed_floor_seq as floor', fn.coalesce(ended.limit(1), lit(0)).as('ended')];
      })
      .where('filled_at', 'is not', null),
  );
  return () => {
    const last = newest.get();
    if (last === undefined || last.kind === 'pass_completed') return null;
    const filled = bounds.get();
    if (filled === undefined) return null;
    const from = Math.max(filled.floor, filled.ended) + 1;
    return from > last.seq ? null : { from, to: last.seq };
  };
}

function pruning(db: Writes): ChangeTable['prune'] {
  // Of few rows, by their instants: not by the order of the numbers.
  const lastBefore = db.values(({ before }: Bound<{ before: Instant }>) =>
    query
      .selectFrom('_change')
      .select(sql<number | null>`max(+${sql.ref('seq')})`.as('seq'))
      .where('at', '<', before),
  );
  // From the oldest on, as far as they go.
  const lastBeyond = db.values(({ bytes }: Bound<{ bytes: number }>) => {
    const all = query.selectFrom('_change').select('total_bytes').orderBy('seq', 'desc').limit(1);
    const first = query
      .selectFrom('_change')
      .select('seq')
      .where('total_bytes', '>', sql<number>`${all} - ${bytes}`)
      .orderBy('seq')
      .limit(1);
    return query.selectFrom(first.as('first')).select((of) => of('seq', '-', 1).as('seq'));
  });
  const drop = db.change(({ last }: Bound<{ last: number }>) => query.deleteFrom('_change').where('seq', '<=', last));
  const raiseFloor = db.change(({ last }: Bound<{ last: number }>) =>
    query.updateTable('_mirror').set(({ fn }) => ({ feed_floor_seq: fn<number>('max', ['feed_floor_seq', last]) })),
  );
  return (before, bytes = Number.POSITIVE_INFINITY) => {
    const last = Math.max(lastBefore.get({ before }) ?? 0, lastBeyond.get({ bytes }) ?? 0);
    const dropped = last === 0 ? 0 : drop.run({ last }).changes;
    if (dropped > 0) raiseFloor.run({ last });
    return dropped;
  };
}

/** A class of statements that adds what it changes to the change feed. Field initialisers may use `this.changes`. */
export abstract class FeedingStore extends Store<Writes> {
  protected readonly changes: ChangeTable;

  constructor(db: Writes, changes: ChangeTable) {
    super(db);
    this.changes = changes;
  }
}
