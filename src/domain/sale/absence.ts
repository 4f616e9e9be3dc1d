import { futureToleranceMs } from '../schedule/record.ts';

/* Doubts absence (reliability.md 3.1): one empty or short list, one missing page or one 404 proves nothing. */

/** The answer of a product's own read while it was missing from the list: 404, 410, or its data. */
export type DirectAnswer = 'gone' | 'permanently-gone' | 'there';
/** Why a hold let a product go: three lists agreed, or a person approved. */
export type Release = 'agreed' | 'approved';
/** How a hold ended; `passed`: few were missing from a later complete list. */
export type HoldOutcome = Release | 'rejected' | 'passed';

/** Complete walks nearer to each other than this count as one. */
export const listsApartMs = 30 * 60 * 1000;
/** The number of complete lists that must lack a product before its own read decides. */
const listsWithout = 2;
/** The number of complete lists that must agree before a mass removal is believed. */
export const listsAgreeing = 3;
/** How often the list is walked while a hold outlives its third list, because the contradiction may have ended. */
const heldListEveryMs = 6 * 60 * 60 * 1000;
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
  readonly release: Release | null;
  /** 1: a person rejected its removal; walks are counted since then. */
  readonly rejected: 0 | 1;
}

/**
 * Tells whether two complete lists are far enough apart to count separately; an instant in the future counts as absent.
 */
export function isApart(last_at: number, at: number): boolean {
  return at - last_at >= listsApartMs || last_at > at + futureToleranceMs;
}

/** Tells whether a product counts as missing: at once, or after a rejection only when three more lists agree. */
export function isMissing({ missing_walks, release, rejected }: AbsenceFacts): boolean {
  return release === null && missing_walks >= (rejected === 1 ? listsAgreeing : 1);
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

/**
 * Returns why a missing product is withdrawn; null: it stays. While removals are held, only released products may go. A
 * 410 needs one complete list without the product, a 404 two.
 */
export function withdrawal(facts: AbsenceFacts, hold: 'held' | 'free'): string | null {
  const { missing_walks, release } = facts;
  if (release === 'approved') return 'approved by an operator';
  if (release === null && (hold === 'held' || !isMissing(facts))) return null;
  const answer = answerSince(facts);
  if (answer === 'permanently-gone' && missing_walks >= 1) return 'missing from the list, and its own read answers 410';
  if (answer === 'gone' && missing_walks >= listsWithout) return 'missing from two lists, and its own read answers 404';
  return null;
}

/**
 * Tells whether a read refused just now shows that the product is gone: a 410 by itself, a 404 if two lists lack the
 * product too.
 */
export function isGoneBy(status: number, facts: Pick<AbsenceFacts, 'missing_walks' | 'rejected'> | null): boolean {
  if (status === 410) return true;
  return status === 404 && facts !== null && facts.rejected === 0 && facts.missing_walks >= listsWithout;
}

/**
 * Tells whether a product's own data contradicts an open hold. A product missing before the hold does not: one that the
 * list never shows would keep every later hold open.
 */
export function contradicts(facts: AbsenceFacts, { opened_at }: { readonly opened_at: number }): boolean {
  const ofThisHold = facts.first_missing_at >= opened_at || facts.rejected === 1;
  return isMissing(facts) && ofThisHold && answerSince(facts) === 'there';
}

/** The number of products whose own read is asked while removals are held. */
const probes = 20;

/**
 * Returns the products whose own read is needed after a complete list: those missing long enough that have not answered
 * that they are gone; while removals are held only a few, first those whose data contradicts the hold, because that may
 * be old.
 */
export function mustBeAsked<Facts extends AbsenceFacts>(
  missing: readonly Facts[],
  hold: { readonly opened_at: number } | null,
): Facts[] {
  const silent = missing.filter((facts) => {
    const answer = answerSince(facts);
    return (isMissing(facts) || facts.release !== null) && (answer === null || answer === 'there');
  });
  if (hold === null) return silent.filter(({ missing_walks }) => missing_walks >= listsWithout);
  const rank = (facts: Facts) => (contradicts(facts, hold) ? 0 : answerSince(facts) === null ? 1 : 2);
  return silent.toSorted((a, b) => rank(a) - rank(b)).slice(0, probes);
}

/**
 * Returns how soon the list must be walked again because of missing products; null: at its cadence. A product that is
 * really gone must not be sold for another week; one that a person keeps is not urgent.
 */
export function walkAgainAfter(missing: readonly AbsenceFacts[], hold: 'held' | 'free'): number | null {
  const undecided = missing.some(
    ({ release, rejected, missing_walks }) => release === null && rejected === 0 && missing_walks < listsAgreeing,
  );
  if (undecided) return listsApartMs;
  return hold === 'held' ? heldListEveryMs : null;
}

/**
 * Returns when to walk the list because a listed product answers 404 or 410: now, but at most once an hour.
 * `walked_at`: when the last walk began; null: never, or at an instant in the future.
 */
export function suspicionDueAt(walked_at: number | null, now: number): number {
  if (walked_at === null || walked_at > now + futureToleranceMs) return now;
  return Math.max(now, walked_at + suspicionEveryMs);
}

export interface RemovalLimits {
  /** The larger of the two counts. */
  readonly hold_share: number;
  readonly hold_count: number;
}

/** Returns how many may be missing from a complete list before removals are held. */
export function mostMissing(visible: number, { hold_share, hold_count }: RemovalLimits): number {
  return Math.max(hold_count, Math.floor(hold_share * visible));
}

export interface ListFacts {
  /** Rows that the complete walk met. */
  readonly rows: number;
  /** Visible products before the walk, and those of them that it lacks and no hold has let go. */
  readonly visible: number;
  readonly missing: number;
  /** Lists that agreed in the open hold, this one included; 0: none is open. */
  readonly lists: number;
  /** Missing products whose own read contradicts the hold. */
  readonly there: number;
}

export type ListVerdict =
  /** Few are missing: each is judged by itself. */
  | 'plausible'
  /** Too many are missing: nothing is withdrawn. */
  | 'hold'
  /** Three lists agree, and no read contradicts them: the hold ends. */
  | 'agreed';

/** Judges what a complete walk over the primary list means for removals. */
export function judgeList({ rows, visible, missing, lists, there }: ListFacts, limits: RemovalLimits): ListVerdict {
  if (missing === 0) return 'plausible';
  if (rows > 0 && missing <= mostMissing(visible, limits)) return 'plausible';
  return lists >= listsAgreeing && there === 0 ? 'agreed' : 'hold';
}

/** Tells whether a hold releases a product: all lists that agreed lack it. */
export function isAgreed(facts: AbsenceFacts): boolean {
  return isMissing(facts) && facts.missing_walks >= listsAgreeing;
}

/**
 * Returns how many complete walks in a row must lack an experience before it is dropped: more where many go missing at
 * once.
 */
export function walksUntilDropped(missing: number, stored: number, limits: RemovalLimits): number {
  return missing > mostMissing(stored, limits) ? listsAgreeing : 1;
}
