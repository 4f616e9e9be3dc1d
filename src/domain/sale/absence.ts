import { mostMissing } from '../evidence/claims.ts';
import { futureToleranceMs } from '../schedule/record.ts';

/* Doubts absence (reliability.md 3.1): one empty or short list, one missing page or one 404 proves nothing. */

/** The answer of a product's own read while it was missing from the list: 404, 410, or its data. */
export type DirectAnswer = 'gone' | 'permanently-gone' | 'there';
/** Complete walks nearer to each other than this count as one. */
export const listsApartMs = 30 * 60 * 1000;
/** The number of complete lists that must lack a product before its own read decides. */
const listsWithout = 2;
/** So many lists that agree are taken as they are; a list is walked again for a missing product until then. */
export const listsAgreeing = 3;
/** How often the list is walked while removals are held: it may show the products again. */
const heldListEveryMs = 60 * 60 * 1000;
/** How often a 404 of a listed product may bring the list walk forward. */
const suspicionEveryMs = 60 * 60 * 1000;

/** The facts of a product missing from the list. Instants are epoch milliseconds. */
export interface AbsenceFacts {
  /** Complete lists in a row without it, at least `listsApartMs` apart. */
  readonly missing_walks: number;
  /** When the first and the last of these walks began. */
  readonly first_missing_at: number;
  readonly last_missing_at: number;
  /** The last answer of its own read, and when; null: it was not read since it left the list. */
  readonly answer: DirectAnswer | null;
  readonly answered_at: number | null;
}

/**
 * Tells whether two complete lists are far enough apart to count separately; an instant in the future counts as absent.
 */
export function isApart(last_at: number, at: number): boolean {
  return at - last_at >= listsApartMs || last_at > at + futureToleranceMs;
}

/**
 * Returns what its own read says about an absence. A 404 counts only while it is newer than every list without the
 * product, which may have come back meanwhile. A 410 always counts.
 */
function answerSince({ answer, answered_at, first_missing_at, last_missing_at }: AbsenceFacts): DirectAnswer | null {
  if (answer === 'permanently-gone') return answer;
  const since = answer === 'gone' ? last_missing_at : first_missing_at;
  return answered_at !== null && answered_at >= since ? answer : null;
}

/** Tells whether a product is there by its own read, although lists lack it. */
export function isThere(facts: AbsenceFacts): boolean {
  return answerSince(facts) === 'there';
}

/** Returns why a missing product may be withdrawn; null: it stays. A 410 needs one complete list without it, a 404 two. */
export function withdrawal(facts: AbsenceFacts): string | null {
  const { missing_walks } = facts;
  const answer = answerSince(facts);
  if (answer === 'permanently-gone' && missing_walks >= 1) return 'missing from the list, and its own read answers 410';
  if (answer === 'gone' && missing_walks >= listsWithout) return 'missing from two lists, and its own read answers 404';
  return null;
}

/**
 * Tells whether a read refused just now shows that the product is gone: a 410 by itself, a 404 if two lists lack the
 * product too.
 */
export function isGoneBy(status: number, facts: Pick<AbsenceFacts, 'missing_walks'> | null): boolean {
  if (status === 410) return true;
  return status === 404 && facts !== null && facts.missing_walks >= listsWithout;
}

/** Returns the products whose own read is needed: those missing from two lists that have not answered that they are gone. */
export function mustBeAsked<Facts extends AbsenceFacts>(missing: readonly Facts[]): Facts[] {
  return missing.filter((facts) => {
    const answer = answerSince(facts);
    return (answer === null || answer === 'there') && facts.missing_walks >= listsWithout;
  });
}

/**
 * Returns how soon the list must be walked again because of missing products; null: at its cadence. A product that is
 * really gone must not be sold for another week.
 */
export function walkAgainAfter(missing: readonly AbsenceFacts[], removals: 'held' | 'free'): number | null {
  if (removals === 'held') return heldListEveryMs;
  return missing.some(({ missing_walks }) => missing_walks < listsAgreeing) ? listsApartMs : null;
}

/**
 * Returns when to walk the list because a listed product answers 404 or 410: now, but at most once an hour.
 * `walked_at`: when the last walk began; null: never, or at an instant in the future.
 */
export function suspicionDueAt(walked_at: number | null, now: number): number {
  if (walked_at === null || walked_at > now + futureToleranceMs) return now;
  return Math.max(now, walked_at + suspicionEveryMs);
}

/**
 * Returns how many complete walks in a row must lack an experience before it is dropped: more where many go missing at
 * once.
 */
export function walksUntilDropped(missing: number, stored: number): number {
  return missing > mostMissing(stored) ? listsAgreeing : 1;
}
