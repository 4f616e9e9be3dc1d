import type { Instant } from '../../clock.ts';
import { noProduct } from '../../domain/changes/change.ts';
import { type Cursor, type CursorVerdict, type FeedBounds, judgeCursor } from '../../domain/changes/change-cursor.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { Bound, Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

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
export interface ChangeFeed {
  bounds(): FeedBounds;
  /** The newest changes of products, the newest first. */
  newest(limit: number): FeedChange[];
  newestOf(product_id: number, limit: number): FeedChange[];
  /**
   * At most `limit` changes after a cursor, of one state of the file. Throws `feed-changed` where the cursor is of another
   * feed, `cursor-too-old` where some of them are forgotten, and `cursor-from-the-future` for a number never given out.
   */
  after(cursor: number, limit: number, feed?: string | null): FeedPage;
}

export function changeFeed(db: Reads): ChangeFeed {
  // Retention raises the floor to the last number that it forgets: an empty feed ends there.
  const bounds = db.rows(() =>
    query.selectFrom('mirror_info').select(({ fn, lit, selectFrom }) => {
      const last = selectFrom('changes').select(({ fn: of }) => of.max('seq').as('seq'));
      return [
        'feed_floor_seq as floor',
        fn<number>('max', ['feed_floor_seq', fn.coalesce(last, lit(0))]).as('newest'),
        'feed_id as feed',
      ];
    }),
  );
  const rows = db.rows(({ after, limit }: Bound<{ after: number; limit: number }>) =>
    query.selectFrom('changes').selectAll().where('seq', '>', after).orderBy('seq').limit(limit),
  );
  const newest = db.rows(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('changes').selectAll().where('product_id', '<>', noProduct).orderBy('seq', 'desc').limit(limit),
  );
  const newestOf = db.rows(({ product_id, limit }: Bound<{ product_id: number; limit: number }>) =>
    query.selectFrom('changes').selectAll().where('product_id', '=', product_id).orderBy('seq', 'desc').limit(limit),
  );
  const read = () => bounds.get() ?? { floor: 0, newest: 0, feed: null };
  return {
    bounds: read,
    newest: (limit) => newest.all({ limit }),
    newestOf: (product_id, limit) => newestOf.all({ product_id, limit }),
    after: (after, limit, feed = null) =>
      db.snapshot(() => {
        const cursor = { after, feed };
        const found = read();
        const verdict = judgeCursor(cursor, found);
        if (verdict !== 'good') throw refused(verdict, cursor, found);
        const changes = rows.all({ after, limit });
        return { changes, next: changes.at(-1)?.seq ?? after, ...found };
      }),
  };
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
