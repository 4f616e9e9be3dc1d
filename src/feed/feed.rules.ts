/** Facts about the change feed when a mirror is opened. */
export interface FeedFacts {
  /** True: the mirror has a feed id. A new one has none, and neither has one of a version before feed ids. */
  readonly identified: boolean;
  /** True: the mirror was paired with this inbox until now. False: it was filled, restored or repaired. */
  readonly paired: boolean;
  /** True: it is the file that was opened last. */
  readonly same_file: boolean;
  /** Newest number in the mirror. */
  readonly newest: number;
  /**
   * As recorded by the inbox: the numbers up to `witnessed`, and perhaps more, were given out, and none above
   * `ceiling`.
   */
  readonly witnessed: number;
  readonly ceiling: number;
}

export type FeedDecision =
  | { readonly feed: 'goes-on' }
  | {
      readonly feed: 'new';
      readonly reason: 'first-fill' | 'paired-again' | 'older-copy';
      /** New numbers are above this one, so that none is given out twice. Null if they continue normally. */
      readonly above: number | null;
    };

/**
 * Decides whether cursors of the last run are still valid. After a kill the feed continues without a gap. A mirror that
 * is new, or older than the numbers given out, gets a new feed above every number that may have been given out.
 */
export function judgeFeed(facts: FeedFacts): FeedDecision {
  const { identified, paired, same_file, newest, witnessed, ceiling } = facts;
  const above = ceiling > newest ? ceiling : null;
  if (!paired) return { feed: 'new', reason: newest === 0 ? 'first-fill' : 'paired-again', above };
  if (newest < witnessed || !same_file) return { feed: 'new', reason: 'older-copy', above };
  if (!identified) return { feed: 'new', reason: 'first-fill', above: null };
  return { feed: 'goes-on' };
}
