/** What of the change feed is there: everything above `floor`, up to `newest`. An empty feed has both at the same number. */
export interface FeedBounds {
  readonly floor: number;
  readonly newest: number;
}

/** Whether the feed can go on after a cursor without a gap: the seq of the last change seen, 0 for none. */
export function judgeCursor(after: number, { floor, newest }: FeedBounds): 'good' | 'too-old' | 'from-the-future' {
  if (after < floor) return 'too-old';
  return after > newest ? 'from-the-future' : 'good';
}
