import type { Instant } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { type Bound, pick, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { DueReason } from '../schedule/record.rules.ts';
import { type ChangeKind, isNewer, noProduct } from './change.rules.ts';
import { type Cursor, type CursorVerdict, type FeedBounds, judgeCursor } from './change-cursor.rules.ts';

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
export class ChangeReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #newest = this.db.value(() =>
    query.selectFrom('sqlite_sequence').select('seq').where('name', '=', '_change'),
  );
  readonly #ofDate = this.db.rows(({ product_id, date }: Bound<{ product_id: number; date: string }>) =>
    query
      .selectFrom('_change')
      .select(['at', 'kind', 'reason', 'detail'])
      .where('product_id', '=', product_id)
      .where((of) => of.or([of('date', '=', date), of.and([of('date', 'is', null), of('kind', 'in', ofAllDates)])]))
      .orderBy('seq'),
  );

  /** Returns the newest number that the feed has given out; 0: none yet. */
  newest(): number {
    return this.#newest() ?? 0;
  }

  /** Returns what happened to a date of a product, and to all its dates, in order. */
  ofDate(product_id: number, date: string): DateChange[] {
    return this.#ofDate({ product_id, date }).map((row) => ({
      ...row,
      detail: JSON.parse(row.detail) as DateChange['detail'],
    }));
  }
}

/** Upper limit of the numbers that may be given out. It is made durable in another file before the commit that uses them. */
export interface FeedCeiling {
  ceiling(): number;
  reserve(ceiling: number): void;
}

/** So many numbers are reserved at a time: one commit of the inbox for each. */
const block = 10_000;

/** For a mirror that nothing outlives. */
const noCeiling: FeedCeiling = { ceiling: () => Number.POSITIVE_INFINITY, reserve: () => undefined };

const columns = ['at', 'product_id', 'kind', 'language', 'date', 'detail', 'reason'] as const;

/** Bytes of a row beside its texts: the number, instant and product, and its place in the indexes. */
const rowBytes = 64;

type Written = Pick<Tables['_change'], (typeof columns)[number]>;

/** The change feed: written in the transaction of the change itself. */
export class ChangeTable extends ChangeReads<Writes> {
  readonly #insert = this.db.insert((change: Bound<Written & { bytes: number }>) =>
    query.insertInto('_change').values(({ selectFrom }) => {
      const last = selectFrom('_change').select('total_bytes').orderBy('seq', 'desc').limit(1);
      return { ...pick(change, columns), total_bytes: sql<number>`coalesce(${last}, 0) + ${change.bytes}` };
    }),
  );
  readonly #filled = this.db.value(() =>
    query.selectFrom('_mirror').select('filled_at').where('filled_at', 'is not', null),
  );
  readonly #tell = this.db.change(({ newest }: Bound<{ newest: number }>) =>
    query.updateTable('_row_feed').set({ last_seq: newest }).where('last_seq', '<', newest),
  );
  readonly #last = this.db.row(() =>
    query.selectFrom('_change').select(['seq', 'kind']).orderBy('seq', 'desc').limit(1),
  );
  readonly #bounds = this.db.row(() =>
    query
      .selectFrom('_mirror')
      .select(({ fn, lit, selectFrom }) => {
        const ended = selectFrom('_change').select('seq').where('kind', '=', 'pass_completed').orderBy('seq', 'desc');
        return ['feed_floor_seq as floor', fn.coalesce(ended.limit(1), lit(0)).as('ended')];
      })
      .where('filled_at', 'is not', null),
  );
  /** Of few rows, by their instants: not by the order of the numbers. */
  readonly #lastBefore = this.db.value(({ before }: Bound<{ before: Instant }>) =>
    query
      .selectFrom('_change')
      .select(sql<number | null>`max(+${sql.ref('seq')})`.as('seq'))
      .where('at', '<', before),
  );
  /** From the oldest on, as far as they go. */
  readonly #lastBeyond = this.db.value(({ bytes }: Bound<{ bytes: number }>) => {
    const all = query.selectFrom('_change').select('total_bytes').orderBy('seq', 'desc').limit(1);
    const first = query
      .selectFrom('_change')
      .select('seq')
      .where('total_bytes', '>', sql<number>`${all} - ${bytes}`)
      .orderBy('seq')
      .limit(1);
    return query.selectFrom(first.as('first')).select((of) => of('seq', '-', 1).as('seq'));
  });
  readonly #drop = this.db.change(({ last }: Bound<{ last: number }>) =>
    query.deleteFrom('_change').where('seq', '<=', last),
  );
  readonly #raiseFloor = this.db.change(({ last }: Bound<{ last: number }>) =>
    query.updateTable('_mirror').set(({ fn }) => ({ feed_floor_seq: fn<number>('max', ['feed_floor_seq', last]) })),
  );
  readonly #feed: FeedCeiling;
  #added = 0;

  constructor(db: Writes, feed: FeedCeiling = noCeiling) {
    super(db);
    this.#feed = feed;
  }

  /** Adds a change. Until the mirror is filled, changes of the newer kinds are ignored. */
  add({ product_id, kind, language, date, detail }: FoundChange, { sent_at, reason }: FoundBy): void {
    if (isNewer(kind) && !this.tellsFirstReads()) return;
    const of = { product_id, kind, language: language ?? null, date: date ?? null, reason };
    this.#write({ ...of, at: sent_at, detail: JSON.stringify(detail) });
  }

  #write(row: Written): void {
    this.#added += 1;
    const bytes = rowBytes + row.kind.length + row.detail.length;
    const seq = this.#insert({ ...row, bytes });
    if (seq > this.#feed.ceiling()) this.#feed.reserve(seq + block);
  }

  /** Returns whether the mirror is filled, so that what is read for the first time is a change. */
  tellsFirstReads(): boolean {
    return this.#filled() !== null;
  }

  /** Has readers see changes up to a number, where they see no more than what is published. */
  tell(newest: number): void {
    this.#added += this.#tell({ newest });
  }

  /** Returns how many were added or reported through this connection, committed or not. */
  added(): number {
    return this.#added;
  }

  /** Returns whether changes were added since the last sync cycle ended; false while the mirror is being filled. */
  isPassOpen(): boolean {
    return this.#openPass() !== null;
  }

  /**
   * Ends the sync cycle: records which changes were added since the end of the last one, by any writer. Adds nothing if
   * there are none. Only the feed itself is asked, so what a kill left open ends later.
   */
  completePass(now: Instant): void {
    const pass = this.#openPass();
    if (pass === null) return;
    const of = { product_id: noProduct, kind: 'pass_completed', language: null, date: null, reason: null } as const;
    this.#write({ ...of, at: now, detail: JSON.stringify(pass) });
  }

  /** Returns the numbers of the changes that no sync cycle has ended yet. */
  #openPass(): { readonly from: number; readonly to: number } | null {
    const last = this.#last();
    if (last === null || last.kind === 'pass_completed') return null;
    const filled = this.#bounds();
    if (filled === null) return null;
    const from = Math.max(filled.floor, filled.ended) + 1;
    return from > last.seq ? null : { from, to: last.seq };
  }

  /**
   * Forgets what is older than an instant, and the oldest beyond a number of bytes; a reader with a cursor below what is
   * left has to start again.
   */
  prune(before: Instant, bytes = Number.POSITIVE_INFINITY): number {
    const last = Math.max(this.#lastBefore({ before }) ?? 0, this.#lastBeyond({ bytes }) ?? 0);
    const dropped = last === 0 ? 0 : this.#drop({ last });
    if (dropped > 0) this.#raiseFloor({ last });
    return dropped;
  }
}

/** One row of the view `changes`; `detail` is JSON text. */
export interface FeedChange {
  readonly seq: number;
  readonly at: Instant;
  readonly product_id: number;
  readonly kind: string;
  readonly language: string | null;
  readonly date: string | null;
  readonly detail: string;
}

/** Changes in order; `next` is the cursor after them. */
export interface FeedPage extends FeedBounds {
  readonly changes: readonly FeedChange[];
  readonly next: number;
}

/** The change feed, read through the views as any storefront could. */
export class ChangeFeed extends Store<Reads> {
  /** Retention raises the floor to the last number that it forgets: an empty feed ends there. */
  readonly #bounds = this.db.row(() =>
    query.selectFrom('mirror_info').select(({ fn, lit, selectFrom }) => {
      const last = selectFrom('changes').select(({ fn: of }) => of.max('seq').as('seq'));
      return [
        'feed_floor_seq as floor',
        fn<number>('max', ['feed_floor_seq', fn.coalesce(last, lit(0))]).as('newest'),
        'feed_id as feed',
      ];
    }),
  );
  readonly #after = this.db.rows(({ after, limit }: Bound<{ after: number; limit: number }>) =>
    query.selectFrom('changes').selectAll().where('seq', '>', after).orderBy('seq').limit(limit),
  );
  /** The newest changes of products, the newest first. */
  readonly newest = this.db.rows(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('changes').selectAll().where('product_id', '<>', noProduct).orderBy('seq', 'desc').limit(limit),
  );
  readonly newestOf = this.db.rows(({ product_id, limit }: Bound<{ product_id: number; limit: number }>) =>
    query.selectFrom('changes').selectAll().where('product_id', '=', product_id).orderBy('seq', 'desc').limit(limit),
  );

  bounds(): FeedBounds {
    return this.#bounds() ?? { floor: 0, newest: 0, feed: null };
  }

  /**
   * At most `limit` changes after a cursor, of one state of the file. Throws `feed-changed` where the cursor is of another
   * feed, `cursor-too-old` where some of them are forgotten, and `cursor-from-the-future` for a number never given out.
   */
  after(after: number, limit: number, feed: string | null = null): FeedPage {
    return this.db.snapshot(() => {
      const cursor = { after, feed };
      const found = this.bounds();
      const verdict = judgeCursor(cursor, found);
      if (verdict !== 'good') throw refused(verdict, cursor, found);
      const changes = this.#after({ after, limit });
      return { changes, next: changes.at(-1)?.seq ?? after, ...found };
    });
  }
}

/** Returns a change as one line of JSON: what `--json`, `GET /v1/changes` and its events have in common. */
export function changeJson({ detail, ...change }: FeedChange): string {
  return `${JSON.stringify(change).slice(0, -1)},"detail":${detail}}`;
}

/** A cursor of another feed: its numbers mean other changes here, or none. */
export class FeedReplaced extends CataloguedError {
  override readonly name = 'FeedReplaced';
  /** The feed that there is now. */
  readonly feed: string;
  /** Its newest change. */
  readonly next: number;
  constructor(asked: string, { feed, newest }: FeedBounds) {
    super(
      'feed-changed',
      `the feed ${asked.slice(0, 60)} has ended: the mirror was filled again, restored or repaired`,
      {
        exitCode: exitCodes.data,
        hint: `start again: read the views or a snapshot again, then go on after ${newest} of feed ${feed}`,
      },
    );
    this.feed = feed ?? '';
    this.next = newest;
  }
}

function refused(verdict: Exclude<CursorVerdict, 'good'>, { after, feed }: Cursor, bounds: FeedBounds) {
  const { floor, newest } = bounds;
  switch (verdict) {
    case 'other-feed':
      return new FeedReplaced(feed ?? '', bounds);
    case 'too-old':
      return new CataloguedError(
        'cursor-too-old',
        `changes up to ${floor} are forgotten, and ${after} lies before them`,
        {
          exitCode: exitCodes.data,
          hint: `start again: read the views or a snapshot again, then go on after ${newest}`,
        },
      );
    case 'from-the-future':
      return new CataloguedError('cursor-from-the-future', `there is no change ${after}: the newest is ${newest}`, {
        exitCode: exitCodes.data,
        hint: `the cursor belongs to another mirror: read the views again, then go on after ${newest}`,
      });
  }
}

/** A class of statements that adds what it changes to the change feed. Field initialisers may use `this.changes`. */
export abstract class FeedingStore extends Store<Writes> {
  protected readonly changes: ChangeTable;

  constructor(db: Writes, changes: ChangeTable) {
    super(db);
    this.changes = changes;
  }
}
