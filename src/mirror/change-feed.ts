import { type FeedBounds, judgeCursor } from '../domain/change-cursor.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import type { Database } from '../sqlite/database-file.ts';

/** One row of the view `changes`; `detail` is JSON text. */
export interface FeedChange {
  readonly seq: number;
  readonly at: number;
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
  /**
   * At most `limit` changes after a cursor, of one state of the file. Throws `cursor-too-old` where some of them are
   * forgotten, and `cursor-from-the-future` for a number that was never given out.
   */
  after(cursor: number, limit: number): FeedPage;
}

export function changeFeed(db: Database): ChangeFeed {
  // Retention raises the floor to the last number that it forgets: an empty feed ends there.
  const bounds = db.prepare<[], FeedBounds>(
    `SELECT feed_floor_seq AS floor, max(feed_floor_seq, COALESCE((SELECT max(seq) FROM changes), 0)) AS newest
     FROM mirror_info`,
  );
  const rows = db.prepare<[number, number], FeedChange>('SELECT * FROM changes WHERE seq > ? ORDER BY seq LIMIT ?');
  const read = () => bounds.get() ?? { floor: 0, newest: 0 };
  return {
    bounds: read,
    after: db.transaction((cursor: number, limit: number) => {
      const found = read();
      const verdict = judgeCursor(cursor, found);
      if (verdict !== 'good') throw refused(verdict, cursor, found);
      const changes = rows.all(cursor, limit);
      return { changes, next: changes.at(-1)?.seq ?? cursor, ...found };
    }),
  };
}

/** A change as one line of JSON: what `--json`, `GET /v1/changes` and its events have in common. */
export function changeJson({ detail, ...change }: FeedChange): string {
  return `${JSON.stringify(change).slice(0, -1)},"detail":${detail}}`;
}

function refused(verdict: 'too-old' | 'from-the-future', cursor: number, { floor, newest }: FeedBounds) {
  return verdict === 'too-old'
    ? new CataloguedError('cursor-too-old', `changes up to ${floor} are forgotten, and ${cursor} lies before them`, {
        exitCode: exitCodes.data,
        hint: `start again: read the views or a snapshot anew, then go on after ${newest}`,
      })
    : new CataloguedError('cursor-from-the-future', `there is no change ${cursor}: the newest is ${newest}`, {
        exitCode: exitCodes.data,
        hint: `the cursor belongs to another mirror: read the views anew, then go on after ${newest}`,
      });
}
