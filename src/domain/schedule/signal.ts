import { afterVisit, changesWithin, staleShare, stillTrue, type Volatility, worthwhileInterval } from './volatility.ts';

/*
 * A read of many things at once, the product list, as a signal about each of them: its entry changes with some of the
 * changes of a record that is read by itself, and sometimes without one.
 *
 * What a signal is worth is learned from the reads that are made anyway. Its precision is how likely a signal was about a
 * change of the record, beyond what had become likely by the time that passed; its recall is the share of changes that it
 * shows. Both are Beta distributed, with fractional counts: which of two causes a found change had is not known, so each
 * gets its share. A list that differs at each walk so ends at a precision and a recall of nothing, and is not believed.
 *
 * Between signals only the rest of the rate, rate · (1 − recall), goes on making a record untrue. A signal multiplies the
 * probability that it is still true by (1 − precision). A record is read as soon as it is untrue with a probability at
 * which waiting costs more than reading (Busa-Fekete et al. 2025, arXiv 2502.02430; Kolobov et al. 2019, NeurIPS).
 */

/** Which dates a signal is about, for each of which it is believed apart: those of the first window, or later ones. */
export type SignalTier = 'near' | 'far';

export function signalTier(part: number): SignalTier {
  return part === 0 ? 'near' : 'far';
}

/** What is believed of a signal: pseudo-counts of signals by whether a change was behind them, and of changes by whether they were shown. */
export interface SignalBelief {
  readonly rightly: number;
  readonly wrongly: number;
  readonly shown: number;
  readonly hidden: number;
}

/** Before anything is known a signal shows nothing, and is rarely right. */
export const priorSignal: SignalBelief = { rightly: 1, wrongly: 4, shown: 0.3, hidden: 9.7 };

/** The counts are scaled down to this many, so that what has changed is learned again. */
const mostCounts = 1000;
/** A signal that is right more rarely is noise, and shows nothing. */
const leastPrecision = 0.05;
/** A recall below the first is not distinguishable from none; above the second, nothing would ever be read without a signal. */
const [leastRecall, mostRecall] = [0.05, 0.95];

export function precisionOf({ rightly, wrongly }: SignalBelief): number {
  return rightly / (rightly + wrongly);
}

export function recallOf(belief: SignalBelief): number {
  const recall = belief.shown / (belief.shown + belief.hidden);
  return recall < leastRecall || precisionOf(belief) < leastPrecision ? 0 : Math.min(recall, mostRecall);
}

/** What is known of a signal, as people are told; shares from 0 to 1, null: too few changes or signals to tell. */
export interface SignalWorth {
  /** The share of changes that it shows. */
  readonly shows: number | null;
  /** The share of signals behind which there was no change. */
  readonly wrong: number | null;
  /** How many changes were found, and how many signals seen, of those that still count. */
  readonly changes: number;
  readonly signals: number;
}

const fewestSignals = 10;

export function signalWorth(belief: SignalBelief): SignalWorth {
  const of = ({ rightly, wrongly, shown, hidden }: SignalBelief) => ({
    signals: rightly + wrongly,
    changes: shown + hidden,
  });
  const [before, now] = [of(priorSignal), of(belief)];
  const [changes, signals] = [now.changes - before.changes, now.signals - before.signals].map((each) =>
    Math.max(0, Math.round(each)),
  ) as [number, number];
  return {
    shows: changes < atLeast.changes ? null : belief.shown / now.changes,
    wrong: signals < fewestSignals ? null : 1 - precisionOf(belief),
    changes,
    signals,
  };
}

/** Two looks at the batch, one after the other, between which it changed. Instants in epoch milliseconds. */
export interface Looks {
  readonly before_at: number;
  readonly at: number;
}

/** A read of a record, with what the batch showed since the read before it. Instants in epoch milliseconds. */
export interface WatchedRead {
  readonly before_at: number;
  readonly at: number;
  readonly changed: boolean;
  /** The newest looks that differed since the read before it; null: none did. */
  readonly signal: Looks | null;
  /** When the batch was last looked at; null: never. */
  readonly looked_at: number | null;
}

/** Returns how much of the time between two looks came after a read: earlier changes were found by it. */
function sinceRead({ before_at, at }: Looks, read_at: number): number {
  return at > before_at ? Math.min(1, Math.max(0, at - read_at) / (at - before_at)) : 0;
}

/** Returns the probability that a change, known to be there, was shown by the signal, and not another one. */
function attributed(belief: SignalBelief, volatility: Volatility, read: WatchedRead): number {
  if (read.signal === null) return 0;
  const caused = precisionOf(belief) * sinceRead(read.signal, read.before_at);
  const otherwise = 1 - stillTrue(restOf(volatility, recallOf(belief)), read.at - read.before_at);
  return caused / Math.max(caused + (1 - caused) * otherwise, 1e-12);
}

/** Returns what a read teaches about the signal; `volatility`: what was believed of the record before it. */
export function afterWatchedRead(belief: SignalBelief, volatility: Volatility, read: WatchedRead): SignalBelief {
  const { signal, changed, before_at, at } = read;
  const looked_at = Math.min(read.looked_at ?? before_at, at);
  if (looked_at <= before_at || (signal === null && !changed)) return belief;
  const next = { ...belief };
  if (signal !== null) {
    const part = sinceRead(signal, before_at);
    const precision = precisionOf(belief);
    // Unchanged, the signal may still have been about what the read before had found.
    const right = changed
      ? attributed(belief, volatility, read)
      : (precision * (1 - part)) / Math.max(1 - precision * part, 1e-12);
    next.rightly += part * right;
    next.wrongly += part * (1 - right);
  }
  if (changed) {
    const shown = attributed(belief, volatility, read);
    const rest = restOf(volatility, recallOf(belief));
    // A change after the last look could not be shown; several between two reads are found as one.
    const hidden = ((looked_at - before_at) / (at - before_at)) * changesWithin(rest, at - before_at);
    next.shown += shown;
    next.hidden += (1 - shown) * hidden;
  }
  return scaled(next);
}

function scaled({ rightly, wrongly, shown, hidden }: SignalBelief): SignalBelief {
  const signals = Math.min(1, mostCounts / (rightly + wrongly));
  const changes = Math.min(1, mostCounts / (shown + hidden));
  return { rightly: rightly * signals, wrongly: wrongly * signals, shown: shown * changes, hidden: hidden * changes };
}

/** Returns what is believed of the changes that no signal shows. */
function restOf({ shape, exposure }: Volatility, recall: number): Volatility {
  return { shape, exposure: exposure / (1 - recall) };
}

/**
 * Returns what is believed of a record's rate after a read, as `afterVisit` does, but knowing the signal: a change that it
 * showed is one event at a known time, and one that it did not show is one of the rest.
 */
export function afterVisitWatched(
  volatility: Volatility,
  read: WatchedRead,
  belief: SignalBelief,
  prior: Volatility,
): Volatility {
  const elapsed = read.at - read.before_at;
  const blind = afterVisit(volatility, elapsed, read.changed, prior);
  const shown = read.changed ? attributed(belief, volatility, read) : 0;
  if (shown === 0) return blind;
  const known = afterVisit({ shape: volatility.shape + 1, exposure: volatility.exposure }, elapsed, false, prior);
  return {
    shape: blind.shape + (known.shape - blind.shape) * shown,
    exposure: blind.exposure + (known.exposure - blind.exposure) * shown,
  };
}

/** A signal as plans count with it. */
export interface Watch {
  readonly precision: number;
  readonly recall: number;
  /** How often it is looked for, in milliseconds. */
  readonly every: number;
}

export function watchOf(belief: SignalBelief, every: number): Watch {
  return { precision: precisionOf(belief), recall: recallOf(belief), every };
}

/** Returns how likely a signal says that a record has changed since it was read; null: there was none since. */
export function jumpOf({ precision }: Pick<Watch, 'precision'>, signal: Looks | null, read_at: number): number {
  return signal === null ? 0 : precision * sinceRead(signal, read_at);
}

/** How a record is read at a price. Milliseconds. */
export interface ReadPlan {
  /** The interval to the next read where no signal comes, and the mean one. */
  readonly every: number;
  readonly mean: number;
  /** The share of the time in which it is no longer true. */
  readonly stale: number;
  /** The recall that the plan counts on: 0 where it does without the signal. */
  readonly recall: number;
}

type Worth = Parameters<typeof worthwhileInterval>[1];

/** Returns how a record is best read at a price, with a signal or without. */
export function planReads(volatility: Volatility, worth: Worth, watch: Watch | null): ReadPlan {
  const alone = worthwhileInterval(volatility, worth);
  const blind = { every: alone, mean: alone, stale: staleShare(volatility, alone), recall: 0 };
  // What is read more often than the batch has nothing to learn from it.
  if (watch === null || watch.recall === 0 || alone <= watch.every) return blind;
  const { precision, recall } = watch;
  const rest = restOf(volatility, recall);
  const every = Math.max(watch.every, worthwhileInterval(rest, worth));
  const { shape, exposure } = volatility;
  // The next signal, right or wrong, ends an interval as soon as it is looked for.
  const silent = every * (1 - staleShare({ shape, exposure: (exposure * precision) / recall }, every));
  const mean = Math.min(every, silent + watch.every / 2);
  const shown = staleShare({ shape, exposure: exposure / recall }, Math.min(watch.every, mean));
  const plan = { every, mean, stale: 1 - (1 - staleShare(rest, mean)) * (1 - shown), recall };
  return precision >= mostUntrue(rest, plan, worth) ? plan : blind;
}

/** Returns the probability of being untrue at which waiting costs more than reading: the mean cost of the plan. */
function mostUntrue(rest: Volatility, { mean }: Pick<ReadPlan, 'mean'>, { weight, price }: Worth): number {
  return staleShare(rest, mean) + price / (weight * mean);
}

/**
 * Returns how long after its last read a record is due that a signal says has changed since, with a probability of
 * `jump`.
 */
export function intervalAfterSignal(volatility: Volatility, worth: Worth, watch: Watch, jump: number): number {
  const plan = planReads(volatility, worth, watch);
  const rest = restOf(volatility, plan.recall);
  const still = (1 - mostUntrue(rest, plan, worth)) / (1 - Math.min(jump, 0.999));
  if (still <= 0) return plan.every;
  const until = still >= 1 ? 0 : rest.exposure * Math.expm1(-Math.log(still) / rest.shape);
  return Math.min(plan.every, Math.max(worth.floor, until));
}

/** What the records cost together at a price, by how often the batch is looked at. */
export interface WalkCosts {
  readonly intervals: readonly number[];
  readonly costs: readonly number[];
}

/**
 * Where extra calls may be made, it is looked at so often at least: until enough changes were found to tell what it shows,
 * and then, lest that has changed.
 */
const atLeast = { unknown: 6 * 3_600_000, known: 24 * 3_600_000, changes: 60 };

export function noWalkCosts(cadence: number, floor: number, { shown, hidden }: SignalBelief): WalkCosts {
  const longest = Math.min(cadence, shown + hidden < atLeast.changes ? atLeast.unknown : atLeast.known);
  const intervals = Array.from({ length: 10 }, (_, step) => longest / 2 ** step).filter(
    (every) => every >= floor || every === longest,
  );
  return { intervals, costs: intervals.map(() => 0) };
}

/** Adds records that the batch is about, with what is believed of the signal about each. */
export function addWalkCosts(
  { intervals, costs }: WalkCosts,
  records: readonly (Omit<Worth, 'price'> & { readonly volatility: Volatility; readonly watch: Watch | null })[],
  price: number,
): WalkCosts {
  const sums = [...costs];
  for (const { volatility, watch, ...own } of records) {
    if (watch === null || watch.recall === 0) continue;
    for (const [index, every] of intervals.entries()) {
      const plan = planReads(volatility, { ...own, price }, { ...watch, every });
      sums[index] = (sums[index] ?? 0) + own.weight * plan.stale + price / plan.mean;
    }
  }
  return { intervals, costs: sums };
}

/** Returns how often looking at the batch pays best, if a look takes `calls`: what it saves at the price, less what it costs. */
export function bestWalkInterval({ intervals, costs }: WalkCosts, price: number, calls: number): number {
  const total = (index: number) => (costs[index] ?? 0) + (price * calls) / (intervals[index] ?? 1);
  const best = intervals.reduce((best, _, index) => (total(index) < total(best) ? index : best), 0);
  return intervals[best] ?? atLeast.known;
}
