import { mostMissing } from './claims.rules.ts';

/* Doubts absence: one empty or short list, one missing page or one 404 proves nothing. */

/** Answer of a product's own read while it was missing from the list: 404, 410, or its data. */
export type DirectAnswer = 'gone' | 'permanently-gone' | 'there';
/** Complete walks of the list that are closer together than this count as one. */
export const listsApartMs = 30 * 60 * 1000;
/** Number of complete lists that must lack a product before its own read decides. */
const listsWithout = 2;
/**
 * Number of agreeing lists after which they are accepted as they are. Until then the list is walked again for a missing
 * product.
 */
export const listsAgreeing = 3;
/** Interval of list walks while removals are held, because the list may show the products again. */
const heldListEveryMs = 60 * 60 * 1000;
/** Shortest time between list walks that a doubt brings forward, because it may concern any product. */
const suspicionEveryMs = 60 * 60 * 1000;

/** Facts about a product that is missing from the list. Instants are epoch milliseconds. */
export interface AbsenceFacts {
  /** Complete lists in a row without it, at least `listsApartMs` apart. */
  readonly missing_walks: number;
  /** Instants at which the first and the last of these walks began. */
  readonly first_missing_at: number;
  readonly last_missing_at: number;
  /** Last answer of its own read, and the instant of it. Null: it was not read since it left the list. */
  readonly answer: DirectAnswer | null;
  readonly answered_at: number | null;
}

/** Returns whether two complete lists are far enough apart to count separately. */
export function isApart(last_at: number, at: number): boolean {
  return at - last_at >= listsApartMs;
}

/**
 * Returns the answer of its own read about an absence; null if it does not count. A 404 counts only while it is newer
 * than every list without the product, because the product may have come back meanwhile. A 410 always counts.
 */
function answerSince({ answer, answered_at, first_missing_at, last_missing_at }: AbsenceFacts): DirectAnswer | null {
  if (answer === 'permanently-gone') return answer;
  const since = answer === 'gone' ? last_missing_at : first_missing_at;
  return answered_at !== null && answered_at >= since ? answer : null;
}

/** Returns whether a product exists according to its own read, although lists lack it. */
export function isThere(facts: AbsenceFacts): boolean {
  return answerSince(facts) === 'there';
}

/**
 * Returns why a missing product may be withdrawn; null if it stays. A 410 requires one complete list without it, a 404
 * two.
 */
export function withdrawal(facts: AbsenceFacts): string | null {
  const { missing_walks } = facts;
  const answer = answerSince(facts);
  if (answer === 'permanently-gone' && missing_walks >= 1) return 'missing from the list, and its own read answers 410';
  if (answer === 'gone' && missing_walks >= listsWithout) return 'missing from two lists, and its own read answers 404';
  return null;
}

/**
 * Returns whether a read that was refused just now proves that the product is gone: a 410 if a list lacks it too, a 404 if
 * two do.
 */
export function isGoneBy(status: number, facts: AbsenceFacts | null): boolean {
  const lists = status === 410 ? 1 : status === 404 ? listsWithout : null;
  return lists !== null && facts !== null && facts.missing_walks >= lists;
}

/**
 * Returns the products whose own read is needed: those missing from two lists whose own read has not shown that they
 * are gone.
 */
export function mustBeAsked<Facts extends AbsenceFacts>(missing: readonly Facts[]): Facts[] {
  return missing.filter((facts) => {
    const answer = answerSince(facts);
    return (answer === null || answer === 'there') && facts.missing_walks >= listsWithout;
  });
}

/**
 * Returns how soon the list must be walked again because of missing products, in milliseconds; null: at its cadence. A
 * product that is really gone must not be sold for another week.
 */
export function walkAgainAfter(missing: readonly AbsenceFacts[], removals: 'held' | 'free'): number | null {
  if (removals === 'held') return heldListEveryMs;
  return missing.some(({ missing_walks }) => missing_walks < listsAgreeing) ? listsApartMs : null;
}

/**
 * Returns when to walk a list because of a doubt: now, but not sooner than `apart` after the last walk began. Null: there
 * was none.
 */
export function suspicionDueAt(walked_at: number | null, now: number, apart = suspicionEveryMs): number {
  return walked_at === null ? now : Math.max(now, walked_at + apart);
}

/**
 * Returns how many complete walks in a row must lack an experience before it is dropped: more if many go missing at
 * once.
 */
export function walksUntilDropped(missing: number, stored: number): number {
  return missing > mostMissing(stored) ? listsAgreeing : 1;
}
