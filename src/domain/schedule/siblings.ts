import { type Looks, precisionOf, type SignalBelief, sinceRead } from './signal.ts';

/*
 * Uses a found change of one record as a signal about its siblings, the same dates of other products of its venue or
 * supplier: a venue closes, a season is released, a system is down.
 *
 * A found change that nothing explains opens a suspicion: between two reads of that record its siblings may have
 * changed with it. Each later read of a sibling is evidence, by Bayes' rule: a change that would be unlikely otherwise
 * confirms the suspicion, an unchanged record weakens it. So one or two calls decide whether the others are read.
 *
 * Two shares are learned, as in signal.ts with fractional counts that decay: the share of changes that siblings share
 * (`shown` beside `hidden`), and the share of siblings that take part in such a change (`rightly` beside `wrongly`).
 */

/** Groups of records that tend to change together. */
export const siblingKinds = ['venue', 'supplier'] as const;
export type SiblingKind = (typeof siblingKinds)[number];

/** Prior: one change in ten is shared, by four siblings in five. */
export const priorSiblings: SignalBelief = { rightly: 4, wrongly: 1, shown: 1, hidden: 9 };

/** Share of shared changes below which a found change says nothing about siblings. */
const leastShare = 0.02;
/** Milliseconds for which a suspicion lasts: by then every window of dates was read again. */
const lastsMs = 24 * 3_600_000;
/** Most suspicions about one group. */
const mostOpen = 4;
/** The counts are scaled down to this many, so that a change of the shares is learned. */
const mostCounts = 1000;
/** No evidence makes a suspicion more certain than this. */
const mostSure = 0.999;

/** A suspected change of a whole group, between two instants. */
interface Suspicion extends Looks {
  /** Probability that the found change was shared. */
  readonly shared: number;
  /** Part of the found change that no earlier suspicion explains. */
  readonly counts: number;
}

/** A read of a record. Instants in epoch milliseconds. */
export interface SiblingRead {
  readonly before_at: number;
  readonly at: number;
  readonly changed: boolean;
  /** Probability that the record would have changed meanwhile by itself. */
  readonly otherwise: number;
}

/** The estimate after a read, and the probability that the change it found was shared. */
export interface AfterSibling {
  readonly belief: SignalBelief;
  readonly shared: number;
}

/** Returns whether a found change says enough about a sibling to be used. */
export function areTelling({ rightly, wrongly, shown, hidden }: SignalBelief): boolean {
  return (shown / (shown + hidden)) * (rightly / (rightly + wrongly)) >= leastShare;
}

/** Holds the suspicions about groups of one kind. Lost with the process: they are hints, and last a day at most. */
export class Suspicions {
  readonly #open = new Map<string, readonly Suspicion[]>();

  /** Returns the probability that a record of the group, last read at `read_at`, has changed with its siblings. */
  jump(group: string, read_at: number, belief: SignalBelief): number {
    if (!areTelling(belief)) return 0;
    const joins = precisionOf(belief);
    return 1 - (this.#open.get(group) ?? []).reduce((left, each) => left * (1 - each.shared * joins * sinceRead(each, read_at)), 1);
  }

  /** Weighs a read as evidence. `others`: the instants at which its siblings were last read. */
  afterRead(group: string, read: SiblingRead, others: readonly number[], before: SignalBelief): AfterSibling {
    const { before_at, at, changed, otherwise } = read;
    if (others.length === 0 || before_at >= at) return { belief: before, shared: 0 };
    const belief = { ...before };
    const joins = precisionOf(before);
    const open: Suspicion[] = [];
    let unexplained = 1;
    for (const each of this.#open.get(group) ?? []) {
      if (at - each.at > lastsMs) {
        conclude(belief, each);
        continue;
      }
      const part = sinceRead(each, before_at);
      const taking = joins * part;
      unexplained *= 1 - each.shared * taking;
      open.push(part === 0 ? each : weighed(belief, each, read, joins));
    }
    const explained = 1 - unexplained;
    const shared = changed ? explained / Math.max(explained + unexplained * otherwise, 1e-12) : 0;
    if (changed) {
      belief.shown += shared;
      if (shared >= 0.5) belief.hidden += 1 - shared;
      else open.push(opened(read, others, before, 1 - shared));
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
}

/** Returns a new suspicion. Siblings that were read meanwhile, and had not changed, speak against it. */
function opened({ before_at, at }: SiblingRead, others: readonly number[], belief: SignalBelief, counts: number): Suspicion {
  const spared = 1 - precisionOf(belief);
  let [mass, until, likely] = [0, at, 1];
  for (const read_at of others.filter((each) => each > before_at && each < at).sort((a, b) => b - a)) {
    mass += likely * (until - read_at);
    [until, likely] = [read_at, likely * spared];
  }
  mass += likely * (until - before_at);
  const quiet = mass / (at - before_at);
  const share = belief.shown / (belief.shown + belief.hidden);
  const shared = (share * quiet) / (share * quiet + 1 - share);
  return { before_at: at - mass, at, shared, counts };
}

/** Returns a suspicion after the read of a sibling, and adds to `belief` whether that took part. */
function weighed(belief: { rightly: number; wrongly: number }, each: Suspicion, { before_at, at, changed, otherwise }: SiblingRead, joins: number): Suspicion {
  const part = sinceRead(each, before_at);
  const taking = joins * part;
  const likely = changed ? 1 - (1 - taking) * (1 - otherwise) : 1 - taking;
  const unlikely = changed ? Math.max(otherwise, 1e-6) : 1;
  const shared = Math.min(mostSure, (each.shared * likely) / (each.shared * likely + (1 - each.shared) * unlikely));
  const took = changed ? taking / likely : (joins * (1 - part)) / Math.max(1 - taking, 1e-12);
  belief.rightly += shared * part * took;
  belief.wrongly += shared * part * (1 - took);
  // A confirmed change came within both intervals.
  const within = changed && shared > 0.5 && at > each.before_at;
  return { ...each, shared, ...(within ? { before_at: Math.max(each.before_at, before_at), at: Math.min(each.at, at) } : {}) };
}

/** Counts an old suspicion, as far as it turned out to be right. */
function conclude(belief: { shown: number; hidden: number }, { shared, counts }: Suspicion): void {
  belief.shown += counts * shared;
  belief.hidden += counts * (1 - shared);
}

function scaled({ rightly, wrongly, shown, hidden }: SignalBelief): SignalBelief {
  const siblings = Math.min(1, mostCounts / (rightly + wrongly));
  const changes = Math.min(1, mostCounts / (shown + hidden));
  return { rightly: rightly * siblings, wrongly: wrongly * siblings, shown: shown * changes, hidden: hidden * changes };
}
