/** Range of the change feed that is kept: numbers above `floor`, up to `newest`. In an empty feed both are equal. */
export interface FeedBounds {
  readonly floor: number;
  readonly newest: number;
  /** Id of the feed to which cursors belong; null if the file belongs to no feed yet. */
  readonly feed: string | null;
}

/** Position of a reader: the `seq` of the last change seen (0: none), and the feed in which it was seen, if known. */
export interface Cursor {
  readonly after: number;
  readonly feed: string | null;
}

export type CursorVerdict = 'good' | 'other-feed' | 'too-old' | 'from-the-future';

/** Decides whether the feed can continue after a cursor without a gap. */
export function judgeCursor(cursor: Cursor, { floor, newest, feed }: FeedBounds): CursorVerdict {
  if (cursor.feed !== null && feed !== null && cursor.feed !== feed) return 'other-feed';
  if (cursor.after < floor) return 'too-old';
  return cursor.after > newest ? 'from-the-future' : 'good';
}
