import { futureToleranceMs } from '../schedule/record.ts';

/*
 * Absence is doubted (reliability.md 3.1): one empty or short list, one missing page, one 404 proves nothing.
 */

/** What a product's own read answered while the list lacked it: 404, 410, or its data. */
export type DirectAnswer = 'gone' | 'permanently-gone' | 'there';
/** Why a hold let a product go: three lists agreed, or a person approved. */
export type Release = 'agreed' | 'approved';
/** How a hold ended; `passed`: a complete list came in which few were missing. */
export type HoldOutcome = Release | 'rejected' | 'passed';

/** Complete walks nearer to each other than this count as one. */
export const listsApartMs = 30 * 60 * 1000;
/** So many complete lists without a product, before its own read decides. */
const listsWithout = 2;
/** So many complete lists must agree before a mass removal is believed. */
const listsAgreeing = 3;
/** How often the list is walked while a hold outlives its third list: what contradicts it may have ended. */
const heldListEveryMs = 6 * 60 * 60 * 1000;
/** A 404 of a product that the list shows brings the list forward, but not again within this. */
const suspicionEveryMs = 60 * 60 * 1000;

/** What is known of a product that the list lacks. Instants are epoch milliseconds. */
export interface AbsenceFacts {
  /** Complete lists in a row without it, at least `listsApartMs` apart. */
  readonly missing_walks: number;
  /** When the first and the last of these walks began. */
  readonly first_missing_at: number;
  readonly last_missing_at: number;
  /** What its own read answered last, and when; null: it was not asked since the list showed it. */
  readonly answer: DirectAnswer | null;
  readonly answered_at: number | null;
  readonly release: Release | null;
  /** 1: a person did not believe that it is gone; the walks are counted since. */
  readonly rejected: 0 | 1;
}

/** Whether two complete lists are witnesses of their own; an instant that has not come yet counts as absent. */
export function isApart(last_at: number, at: number): boolean {
  return at - last_at >= listsApartMs || last_at > at + futureToleranceMs;
}

/** Whether a product counts as missing: at once, or where a person did not believe it, when three further lists agree. */
export function isMissing({ missing_walks, release, rejected }: AbsenceFacts): boolean {
  return release === null && missing_walks >= (rejected === 1 ? listsAgreeing : 1);
}

/**
 * What its own read says about an absence. A 404 counts while it is newer than every list without the product: it may
 * have come back since, and the lists may lie. A 410 counts whenever it was said.
 */
function answerSince({ answer, answered_at, first_missing_at, last_missing_at }: AbsenceFacts): DirectAnswer | null {
  if (answer === 'permanently-gone') return answer;
  const since = answer === 'gone' ? last_missing_at : first_missing_at;
  return answered_at !== null && answered_at >= since ? answer : null;
}

/**
 * Whether a product that the list lacks is withdrawn, and why; null: it stays. While more are missing at once than may
 * be (`held`), only what a hold has let go may go. A 410 needs one complete list without the product, a 404 two.
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
 * Whether a read of a listed or missing product that was refused just now says that it is gone: a 410 by itself, a 404
 * where two lists lack it too.
 */
export function isGoneBy(status: number, facts: Pick<AbsenceFacts, 'missing_walks' | 'rejected'> | null): boolean {
  if (status === 410) return true;
  return status === 404 && facts !== null && facts.rejected === 0 && facts.missing_walks >= listsWithout;
}

/**
 * Whether a product's own data contradicts an open hold. One that was missing before it does not: a product that the
 * list never shows would keep every later hold from ending.
 */
export function contradicts(facts: AbsenceFacts, { opened_at }: { readonly opened_at: number }): boolean {
  const ofThisHold = facts.first_missing_at >= opened_at || facts.rejected === 1;
  return isMissing(facts) && ofThisHold && answerSince(facts) === 'there';
}

/** Products whose own read is asked while removals are held. */
const probes = 20;

/**
 * Whose own read has to be asked after a complete list: those missing for long enough that have not said that they are
 * gone; while removals are held a few, first those whose data contradicts the hold, for that may be long ago.
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
 * How long after this list it has to be walked again because of what it lacks; null: at its cadence. A product that is
 * really gone shall not be sold for another week; one that a person wants to keep hurries nobody.
 */
export function walkAgainAfter(missing: readonly AbsenceFacts[], hold: 'held' | 'free'): number | null {
  const undecided = missing.some(
    ({ release, rejected, missing_walks }) => release === null && rejected === 0 && missing_walks < listsAgreeing,
  );
  if (undecided) return listsApartMs;
  return hold === 'held' ? heldListEveryMs : null;
}

/**
 * When the list has to be walked because a product that it shows answers 404 or 410: now, but not twice an hour.
 * `walked_at`: when the last walk began; null: never, or at an instant that has not come yet.
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

/** How many may be missing from a complete list before removals are held. */
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
  /** So many are missing that nothing is withdrawn. */
  | 'hold'
  /** Three lists agree, and no read contradicts them: the hold ends. */
  | 'agreed';

/** What a complete walk over the primary list says about removals. */
export function judgeList({ rows, visible, missing, lists, there }: ListFacts, limits: RemovalLimits): ListVerdict {
  if (missing === 0) return 'plausible';
  if (rows > 0 && missing <= mostMissing(visible, limits)) return 'plausible';
  return lists >= listsAgreeing && there === 0 ? 'agreed' : 'hold';
}

/** Whether a hold that has met so many lists lets a product go: the lists that agreed all lack it. */
export function isAgreed(facts: AbsenceFacts): boolean {
  return isMissing(facts) && facts.missing_walks >= listsAgreeing;
}

/** How many complete walks in a row must lack an experience before it is dropped: more where many go missing at once. */
export function walksUntilDropped(missing: number, stored: number, limits: RemovalLimits): number {
  return missing > mostMissing(stored, limits) ? listsAgreeing : 1;
}
