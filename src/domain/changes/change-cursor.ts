/** What of the change feed is there: everything above `floor`, up to `newest`. An empty feed has both at the same number. */
export interface FeedBounds {
  readonly floor: number;
  readonly newest: number;
  /** What cursors belong to; null: the file was written by a version that gave none. */
  readonly feed: string | null;
}

/** Where a reader is: the seq of the last change seen, 0 for none; and the feed that it was seen in, where it says so. */
export interface Cursor {
  readonly after: number;
  readonly feed: string | null;
}

export type CursorVerdict = 'good' | 'other-feed' | 'too-old' | 'from-the-future';

/** Whether the feed can go on after a cursor without a gap. */
export function judgeCursor(cursor: Cursor, { floor, newest, feed }: FeedBounds): CursorVerdict {
  if (cursor.feed !== null && feed !== null && cursor.feed !== feed) return 'other-feed';
  if (cursor.after < floor) return 'too-old';
  return cursor.after > newest ? 'from-the-future' : 'good';
}
