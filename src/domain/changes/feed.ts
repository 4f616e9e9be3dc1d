/** The facts of the change feed when a mirror is opened. */
export interface FeedFacts {
  /** Whether the mirror has a feed id: a new one has none, nor has one of a version that gave none. */
  readonly identified: boolean;
  /** Whether the mirror was paired with this inbox until now; without it, it was filled, restored or repaired. */
  readonly paired: boolean;
  /** Whether it is the same file that was opened last. */
  readonly same_file: boolean;
  /** The newest number in the mirror. */
  readonly newest: number;
  /** By the inbox: numbers at least up to `witnessed` were given out, and none above `ceiling`. */
  readonly witnessed: number;
  readonly ceiling: number;
}

export type FeedDecision =
  | { readonly feed: 'goes-on' }
  | {
      readonly feed: 'new';
      readonly reason: 'first-fill' | 'paired-again' | 'older-copy';
      /** New numbers are above this one, so that none is given out twice; null: they continue normally. */
      readonly above: number | null;
    };

/**
 * Decides whether cursors of the last run are still valid. After a kill the feed continues without a gap; a mirror that
 * is new, or older than the numbers given out, gets another feed above every number that may have been given out.
 */
export function judgeFeed(facts: FeedFacts): FeedDecision {
  const { identified, paired, same_file, newest, witnessed, ceiling } = facts;
  const above = ceiling > newest ? ceiling : null;
  if (!paired) return { feed: 'new', reason: newest === 0 ? 'first-fill' : 'paired-again', above };
  if (newest < witnessed || !same_file) return { feed: 'new', reason: 'older-copy', above };
  if (!identified) return { feed: 'new', reason: 'first-fill', above: null };
  return { feed: 'goes-on' };
}
