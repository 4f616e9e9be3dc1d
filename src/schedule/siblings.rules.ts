import {
  type BatchReads,
  either,
  precisionOf,
  type SignalBelief,
  type SignalTier,
  scaled,
  sinceRead,
} from './signal.rules.ts';

/*
 * Uses a change found in one record as a signal about its siblings: the same dates of other products of its venue or
 * supplier. A venue closes, a season is released, a supplier's system is down.
 *
 * A change that nothing explains yet opens a suspicion: the siblings may have changed too, between the two reads of
 * that record. Each later read of a sibling is evidence by Bayes' rule. A change that was unlikely otherwise confirms
 * the suspicion, an unchanged sibling weakens it. So one or two reads decide whether the other siblings are read soon.
 *
 * Two shares are learned from all reads, as in signal.rules.ts with fractional counts: the share of changes that siblings
 * share (`shown` beside `hidden`), and the share of siblings that take part in a shared change (`rightly` beside
 * `wrongly`). Where their product is small, nothing is read because of siblings.
 */

/** Groups of products whose dates tend to change together. */
export const siblingKinds = ['venue', 'supplier'] as const;
export type SiblingKind = (typeof siblingKinds)[number];

/** Subject of an estimate: a kind of group, and how near the dates are. */
export type SiblingSubject = `${SiblingKind} ${SignalTier}`;

/** Prior: one change in ten is shared, by four siblings in five. */
export const priorSiblings: SignalBelief = { rightly: 4, wrongly: 1, shown: 1, hidden: 9 };

/** Probability that a change of one record reached another. Below it, changes say nothing about siblings. */
const leastReach = 0.02;
/** Milliseconds for which a suspicion lasts: until then all siblings are read by their cadence. */
const lastsMs = 24 * 3_600_000;
/** Most suspicions about one group at a time. */
const mostOpen = 4;
/** Highest probability of a suspicion. */
const mostSure = 0.999;
/** Lowest probability with which a record changes by itself between two reads. */
const leastOtherwise = 1e-6;

/** Suspicion that a whole group has changed between two instants. */
interface Suspicion extends BatchReads {
  readonly opened_at: number;
  /** Probability that the change was shared. */
  readonly shared: number;
  /** Part of the change that no earlier suspicion explains. */
  readonly counts: number;
}

/** A read of a record. Instants in epoch milliseconds. */
export interface SiblingRead {
  readonly before_at: number;
  readonly at: number;
  readonly changed: boolean;
  /** Probability that the record has changed meanwhile by itself. */
  readonly otherwise: number;
}

/** The estimate after a read, and the probability that the change it found was shared. */
interface AfterSibling {
  readonly belief: SignalBelief;
  readonly shared: number;
}

/**
 * Holds the suspicions about all groups, and counts the calls they cost. A restart loses them: they are hints, and no
 * older than a day.
 */
export class Siblings {
  /** By group; a group without a suspicion is absent. */
  readonly #open = new Map<string, readonly Suspicion[]>();
  /** Calls made because of siblings, beyond those that the records alone were worth, since `#counted_at`. */
  #spent = 0;
  #counted_at: number;

  constructor(now: number) {
    this.#counted_at = now;
  }

  /** Returns whether there is no suspicion about any group. */
  areQuiet(): boolean {
    return this.#open.size === 0;
  }

  /** Returns whether there is a suspicion about a group. */
  isOpen(group: string): boolean {
    return this.#open.has(group);
  }

  /** Returns the probability that a record of the group, last read at `read_at`, has changed with its siblings. */
  jump(group: string, read_at: number, belief: SignalBelief): number {
    const open = this.#open.get(group);
    if (open === undefined || !areTelling(belief)) return 0;
    const joins = precisionOf(belief);
    return either(open.map((each) => each.shared * joins * sinceRead(each, read_at)));
  }

  /**
   * Takes a read of a record as evidence about its group. `othersReadAt` returns the instants at which its siblings were
   * last read; it is called only if the record has changed.
   */
  afterRead(
    group: string,
    read: SiblingRead,
    othersReadAt: () => readonly number[],
    before: SignalBelief,
  ): AfterSibling {
    const { before_at, at, changed, otherwise } = read;
    const known = this.#open.get(group) ?? [];
    if (before_at >= at || (known.length === 0 && !changed)) return { belief: before, shared: 0 };
    const belief = { ...before };
    const open: Suspicion[] = [];
    for (const each of known) {
      // An instant in the future was written by a wrong clock.
      if (at - each.opened_at > lastsMs || each.opened_at > at + lastsMs) conclude(belief, each);
      else open.push(weighed(belief, each, read, precisionOf(before)));
    }
    const explained = either(known.map((each) => each.shared * precisionOf(before) * sinceRead(each, before_at)));
    const shared = changed ? explained / Math.max(explained + (1 - explained) * otherwise, 1e-12) : 0;
    const others = changed ? othersReadAt() : [];
    if (others.length > 0) {
      belief.shown += shared;
      if (shared < 0.5) open.push(opened(read, others, before, 1 - shared));
      else belief.hidden += 1 - shared;
    }
    if (open.length > mostOpen) {
      const least = open.reduce((a, b) => (b.shared < a.shared ? b : a));
      conclude(belief, least);
      open.splice(open.indexOf(least), 1);
    }
    if (open.length > 0) this.#open.set(group, open);
    else this.#open.delete(group);
    return { belief: scaled(belief), shared: areTelling(before) ? shared : 0 };
  }

  /** Counts a read that was made `elapsed` ms after the last one, where the record alone was worth one after `alone`. */
  readEarly(elapsed: number, alone: number): void {
    this.#spent += Math.max(0, 1 - elapsed / alone);
  }

  /** Returns the calls a millisecond that siblings have cost since the last time, and counts from scratch. */
  takeSpent(now: number): number {
    const elapsed = now - this.#counted_at;
    const spent = elapsed > 0 ? this.#spent / elapsed : 0;
    this.#spent = 0;
    this.#counted_at = now;
    return spent;
  }
}

/** Returns whether a change of one record says enough about its siblings to be used. */
export function areTelling({ rightly, wrongly, shown, hidden }: SignalBelief): boolean {
  return (shown / (shown + hidden)) * (rightly / (rightly + wrongly)) >= leastReach;
}

/**
 * Returns a new suspicion. Siblings that were read between the two reads were unchanged, which speaks against a shared
 * change before that.
 */
function opened(
  { before_at, at }: SiblingRead,
  othersReadAt: readonly number[],
  belief: SignalBelief,
  counts: number,
): Suspicion {
  const between = othersReadAt.filter((each) => each > before_at && each < at).sort((a, b) => b - a);
  let [likely_ms, until, likely] = [0, at, 1];
  for (const read_at of [...between, before_at]) {
    likely_ms += likely * (until - read_at);
    until = read_at;
    likely *= 1 - precisionOf(belief);
  }
  const share = belief.shown / (belief.shown + belief.hidden);
  const quiet = likely_ms / (at - before_at);
  const shared = (share * quiet) / (share * quiet + 1 - share);
  return { before_at: at - likely_ms, at, opened_at: at, shared, counts };
}

/** Returns a suspicion after the read of a sibling, and adds to the estimate whether that sibling took part. */
function weighed(
  belief: { rightly: number; wrongly: number },
  suspicion: Suspicion,
  { before_at, at, changed, otherwise }: SiblingRead,
  joins: number,
): Suspicion {
  const part = sinceRead(suspicion, before_at);
  if (part === 0) return suspicion;
  const took = joins * part;
  const ifShared = changed ? 1 - (1 - took) * (1 - otherwise) : 1 - took;
  const ifNot = changed ? Math.max(otherwise, leastOtherwise) : 1;
  const { shared: before } = suspicion;
  const shared = Math.min(mostSure, (before * ifShared) / (before * ifShared + (1 - before) * ifNot));
  // Although it is unchanged, it may have taken part before its last read, which found that.
  const right = changed ? took / ifShared : (joins * (1 - part)) / Math.max(1 - took, 1e-12);
  belief.rightly += shared * part * right;
  belief.wrongly += shared * part * (1 - right);
  if (!changed || shared <= 0.5) return { ...suspicion, shared };
  // The shared change came between the two reads of both records.
  return { ...suspicion, shared, before_at: Math.max(suspicion.before_at, before_at), at: Math.min(suspicion.at, at) };
}

/** Adds a suspicion that is over to the estimate. */
function conclude(belief: { shown: number; hidden: number }, { shared, counts }: Suspicion): void {
  belief.shown += counts * shared;
  belief.hidden += counts * (1 - shared);
}
