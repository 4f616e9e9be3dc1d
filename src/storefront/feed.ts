import { wholeNumber } from './arguments.ts';
import type { Connection } from './connection.ts';
import { badArgument, CursorFromTheFuture, CursorTooOld, FeedChanged } from './problems.ts';
import { allColumns, type ViewRow } from './views.ts';

type Change = ViewRow<'changes'>;

type Ends = ViewRow<'mirror_info'> & { readonly newest: number };

export interface FeedOptions {
  readonly limit?: number | undefined;
  /** The feed that came with the cursor: one of a mirror that was filled again, restored or repaired since is refused. */
  readonly feed?: string | undefined;
}

/** Current end of the feed: read it before the views, to begin a copy from it. */
export interface FeedEnd {
  /** Cursor for the next request, together with `feed`. */
  readonly next: number;
  /** Null: the mirror was written by a version that gave none. */
  readonly feed: string | null;
}

export interface ChangesPage extends FeedEnd {
  readonly changes: Change[];
}

/** The change feed as a storefront reads it. */
export interface Feed {
  /** Returns what changed after a change, in order, and what to ask with next. */
  changes(after: number, options?: FeedOptions): ChangesPage;
  newest(): FeedEnd;
}

export function feedOf(connection: Connection): Feed {
  const ends = connection.query<[], Ends>(
    `SELECT ${allColumns('mirror_info', 'm')}, max(feed_floor_seq, COALESCE((SELECT max(seq) FROM changes), 0)) AS newest FROM mirror_info m`,
  );
  const page = connection.query<[number, number], Change>(
    `SELECT ${allColumns('changes', 'c')} FROM changes c WHERE c.seq > ? ORDER BY c.seq LIMIT ?`,
  );

  const found = () => ends.get([]) ?? { feed_floor_seq: 0, newest: 0, feed_id: null };

  function changes(after: number, { limit, feed }: FeedOptions = {}): ChangesPage {
    const cursor = wholeNumber('after', after, { most: Number.MAX_SAFE_INTEGER });
    const most = wholeNumber('limit', limit, { least: 1, most: 10_000, absent: 1000 });
    if (feed !== undefined && typeof feed !== 'string')
      throw badArgument('feed: found no text', 'give the feed id that came with the cursor, unchanged');
    return connection.transaction(() => {
      const { feed_floor_seq: floor, newest, feed_id } = found();
      if (feed !== undefined && feed_id !== null && feed !== feed_id) throw new FeedChanged(feed, feed_id, newest);
      if (cursor < floor) throw new CursorTooOld(cursor, floor, newest);
      if (cursor > newest) throw new CursorFromTheFuture(cursor, newest);
      const changes = page.all([cursor, most]);
      return { changes, next: changes.at(-1)?.seq ?? cursor, feed: feed_id };
    });
  }

  return {
    changes,
    newest: () => {
      const { newest: next, feed_id: feed } = found();
      return { next, feed };
    },
  };
}
