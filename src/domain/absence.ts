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

export interface AbsenceFacts {
  readonly missing_walks: number;
  readonly answer: DirectAnswer | null;
  readonly release: Release | null;
}

/**
 * Whether a product that the list lacks is withdrawn, and why; null: it stays. While more are missing at once than may
 * be (`held`), only what a hold has let go may go. A 410 needs one complete list without the product, a 404 two.
 */
export function withdrawal({ missing_walks, answer, release }: AbsenceFacts, hold: 'held' | 'free'): string | null {
  if (release === 'approved') return 'approved by an operator';
  if (hold === 'held' && release === null) return null;
  if (answer === 'permanently-gone' && missing_walks >= 1) return 'missing from the list, and its own read answers 410';
  if (answer === 'gone' && missing_walks >= listsWithout) return 'missing from two lists, and its own read answers 404';
  return null;
}

/** Products whose own read is asked while removals are held. */
const probes = 20;

/**
 * Whose own read has to be asked after a complete list: those missing for long enough that have not said that they are
 * gone; while removals are held a few, first those whose data contradicted the lists, for that may be long ago.
 */
export function mustBeAsked<Facts extends AbsenceFacts>(missing: readonly Facts[], hold: 'held' | 'free'): Facts[] {
  const silent = missing.filter(({ answer }) => answer === null || answer === 'there');
  if (hold === 'free') return silent.filter(({ missing_walks }) => missing_walks >= listsWithout);
  const there = silent.filter(({ answer }) => answer === 'there');
  return [...there, ...silent.filter(({ answer }) => answer === null)].slice(0, probes);
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
  /** Missing products whose own read answers with data. */
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
