import { counted, duration, number } from '../kernel/format.ts';
import {
  afterVisit,
  changesWithin,
  staleShare,
  stillTrue,
  type Volatility,
  worthwhileInterval,
} from './volatility.rules.ts';

/*
 * Uses a read of many records at once, the product list, as a signal about each of them: its entry changes with some of
 * the changes of a record that is read by itself, and sometimes without one.
 *
 * The value of a signal is learned from the reads that are made anyway. Its precision is the probability that a signal
 * was about a change of the record, beyond the probability that follows from the time passed. Its recall is the share
 * of changes that it shows. Both are Beta distributed, with fractional counts: it is not known which of two causes a
 * found change had, so each gets its share. A list that differs at each walk therefore ends at a precision and a recall
 * of nothing, and is ignored.
 *
 * Between signals only the rest of the rate, rate · (1 − recall), keeps making a record outdated. A signal multiplies
 * the probability that it is still up to date by (1 − precision). A record is read as soon as it is outdated with a
 * probability at which waiting costs more than reading (Busa-Fekete et al. 2025, arXiv 2502.02430; Kolobov et al. 2019,
 * NeurIPS).
 */

/** Dates that a signal is about, with a separate estimate for each: those of the first window, or later ones. */
export type SignalTier = 'near' | 'far';

export function signalTier(part: number): SignalTier {
  return part === 0 ? 'near' : 'far';
}

/**
 * Estimate of a signal's quality: pseudo-counts of signals with and without a change behind them, and of changes that
 * were shown or not.
 */
export interface SignalBelief {
  readonly rightly: number;
  readonly wrongly: number;
  readonly shown: number;
  readonly hidden: number;
}

/** Prior: a signal shows nothing, and is rarely right. */
export const priorSignal: SignalBelief = { rightly: 1, wrongly: 4, shown: 0.3, hidden: 9.7 };

/** The counts are scaled down to this many, so that a change of the signal's quality is learned. */
const mostCounts = 1000;
/** A signal with a lower precision is noise, and shows nothing. */
const leastPrecision = 0.05;
/**
 * A recall below the first bound cannot be distinguished from none. Above the second, nothing would ever be read
 * without a signal.
 */
const [leastRecall, mostRecall] = [0.05, 0.95];

export function precisionOf({ rightly, wrongly }: SignalBelief): number {
  return rightly / (rightly + wrongly);
}

export function recallOf(belief: SignalBelief): number {
  const recall = belief.shown / (belief.shown + belief.hidden);
  return recall < leastRecall || precisionOf(belief) < leastPrecision ? 0 : Math.min(recall, mostRecall);
}

/** Quality of a signal, for people. Shares from 0 to 1; null if there are too few changes or signals. */
export interface SignalWorth {
  /** Share of changes that it shows. */
  readonly shows: number | null;
  /** Share of signals without a change behind them. */
  readonly wrong: number | null;
  /** Number of changes found, and of signals seen, among those that still count. */
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

/** Two consecutive reads of the batch between which it changed. Instants in epoch milliseconds. */
export interface BatchReads {
  readonly before_at: number;
  readonly at: number;
}

/** A read of a record, with what the batch showed since the read before it. Instants in epoch milliseconds. */
export interface SignalledRead {
  readonly before_at: number;
  readonly at: number;
  readonly changed: boolean;
  /** Newest consecutive reads of the batch that differed, since the read before it; null if none did. */
  readonly signal: BatchReads | null;
  /** Instant of the last read of the batch; null if there was none. */
  readonly looked_at: number | null;
}

/**
 * Returns the share of the time between two reads of the batch that came after a read of the record, which had found
 * all earlier changes.
 */
export function sinceRead({ before_at, at }: BatchReads, read_at: number): number {
  return at > before_at ? Math.min(1, Math.max(0, at - read_at) / (at - before_at)) : 0;
}

/**
 * Returns the probability that a change, known to have happened, is the one that the signal showed, and not another.
 */
function attributed(belief: SignalBelief, volatility: Volatility, read: SignalledRead): number {
  if (read.signal === null) return 0;
  const caused = precisionOf(belief) * sinceRead(read.signal, read.before_at);
  const otherwise = 1 - stillTrue(restOf(volatility, recallOf(belief)), read.at - read.before_at);
  return caused / Math.max(caused + (1 - caused) * otherwise, 1e-12);
}

/** Returns the estimate of the signal after a read. `volatility` is the record's estimate before it. */
export function afterSignalledRead(belief: SignalBelief, volatility: Volatility, read: SignalledRead): SignalBelief {
  const { signal, changed, before_at, at } = read;
  const looked_at = Math.min(read.looked_at ?? before_at, at);
  if (looked_at <= before_at || (signal === null && !changed)) return belief;
  const next = { ...belief };
  if (signal !== null) {
    const part = sinceRead(signal, before_at);
    const precision = precisionOf(belief);
    // Although the read found no change, the signal may have been about one that the read before had found.
    const right = changed
      ? attributed(belief, volatility, read)
      : (precision * (1 - part)) / Math.max(1 - precision * part, 1e-12);
    next.rightly += part * right;
    next.wrongly += part * (1 - right);
  }
  if (changed) {
    const shown = attributed(belief, volatility, read);
    const rest = restOf(volatility, recallOf(belief));
    // A change after the last read of the batch could not be shown. Several changes between two reads of the record are
    // found as one.
    const hidden = ((looked_at - before_at) / (at - before_at)) * changesWithin(rest, at - before_at);
    next.shown += shown;
    next.hidden += (1 - shown) * hidden;
  }
  return scaled(next);
}

/** Returns the estimate with its counts scaled down to the most that are kept. */
export function scaled({ rightly, wrongly, shown, hidden }: SignalBelief): SignalBelief {
  const signals = Math.min(1, mostCounts / (rightly + wrongly));
  const changes = Math.min(1, mostCounts / (shown + hidden));
  return { rightly: rightly * signals, wrongly: wrongly * signals, shown: shown * changes, hidden: hidden * changes };
}

/** Returns the estimated volatility of the changes that no signal shows. */
function restOf({ shape, exposure }: Volatility, recall: number): Volatility {
  return { shape, exposure: exposure / (1 - recall) };
}

/**
 * Returns the estimate of a record's rate after a read, as `afterVisit` does, but using the signal: a change that it
 * showed is one event at a known time; one that it did not show belongs to the rest. `shared`: the probability that
 * siblings showed the change.
 */
export function afterVisitSignalled(
  volatility: Volatility,
  read: SignalledRead,
  belief: SignalBelief,
  prior: Volatility,
  shared = 0,
): Volatility {
  const elapsed = read.at - read.before_at;
  const blind = afterVisit(volatility, elapsed, read.changed, prior);
  const shown = read.changed ? either([attributed(belief, volatility, read), shared]) : 0;
  if (shown === 0) return blind;
  const known = afterVisit({ shape: volatility.shape + 1, exposure: volatility.exposure }, elapsed, false, prior);
  return {
    shape: blind.shape + (known.shape - blind.shape) * shown,
    exposure: blind.exposure + (known.exposure - blind.exposure) * shown,
  };
}

/** A signal, as used in plans. */
export interface PlannedSignal {
  readonly precision: number;
  readonly recall: number;
  /** Milliseconds between two reads of the batch. */
  readonly every: number;
}

export function plannedSignalOf(belief: SignalBelief, every: number): PlannedSignal {
  return { precision: precisionOf(belief), recall: recallOf(belief), every };
}

/**
 * Returns the probability with which a signal shows that a record has changed since it was read; 0 if there was no
 * signal since.
 */
export function jumpOf({ precision }: PlannedSignal, signal: BatchReads | null, read_at: number): number {
  return signal === null ? 0 : precision * sinceRead(signal, read_at);
}

/** Returns the probability that at least one of several independent causes holds. */
export function either(probabilities: readonly number[]): number {
  return 1 - probabilities.reduce((none, each) => none * (1 - each), 1);
}

/** Plan for reading a record at a price. Milliseconds. */
export interface ReadPlan {
  /** Interval to the next read if no signal comes, and the mean interval. */
  readonly every: number;
  readonly mean: number;
  /** Share of the time in which it is outdated. */
  readonly stale: number;
  /** Recall that the plan relies on; 0 if it does not use the signal. */
  readonly recall: number;
}

type Worth = Parameters<typeof worthwhileInterval>[1];

/** Returns the best plan for reading a record at a price, with a signal or without. */
export function planReads(volatility: Volatility, worth: Worth, watch: PlannedSignal | null): ReadPlan {
  const alone = worthwhileInterval(volatility, worth);
  const blind = { every: alone, mean: alone, stale: staleShare(volatility, alone), recall: 0 };
  // A record that is read more often than the batch learns nothing from it.
  if (watch === null || watch.recall === 0 || alone <= watch.every) return blind;
  const { precision, recall } = watch;
  const rest = restOf(volatility, recall);
  const every = Math.max(watch.every, worthwhileInterval(rest, worth));
  const { shape, exposure } = volatility;
  // The next signal, right or wrong, ends an interval at the next read of the batch.
  const silent = every * (1 - staleShare({ shape, exposure: (exposure * precision) / recall }, every));
  const mean = Math.min(every, silent + watch.every / 2);
  const shown = staleShare({ shape, exposure: exposure / recall }, Math.min(watch.every, mean));
  const plan = { every, mean, stale: 1 - (1 - staleShare(rest, mean)) * (1 - shown), recall };
  return precision >= mostOutdated(rest, plan, worth) ? plan : blind;
}

/** Returns the probability of being outdated at which waiting costs more than reading: the mean cost of the plan. */
function mostOutdated(rest: Volatility, { mean }: ReadPlan, { weight, price }: Worth): number {
  return staleShare(rest, mean) + price / (weight * mean);
}

/**
 * Returns the time from the last read of a record to its next one, in milliseconds, after a signal that shows a change
 * since then with a probability of `jump`.
 */
export function intervalAfterSignal(volatility: Volatility, worth: Worth, watch: PlannedSignal, jump: number): number {
  const plan = planReads(volatility, worth, watch);
  const rest = restOf(volatility, plan.recall);
  const still = (1 - mostOutdated(rest, plan, worth)) / (1 - Math.min(jump, 0.999));
  if (still <= 0) return plan.every;
  const until = still >= 1 ? 0 : rest.exposure * Math.expm1(-Math.log(still) / rest.shape);
  return Math.min(plan.every, Math.max(worth.floor, until));
}

/** Cost of all records together at a price, for each interval at which the batch may be read. */
export interface WalkCosts {
  readonly intervals: readonly number[];
  readonly costs: readonly number[];
}

/**
 * Longest intervals between two reads of the batch, if extra calls may be made: until `changes` changes were found, so
 * that its quality can be determined, and afterwards, in case it has changed.
 */
const atLeast = { unknown: 6 * 3_600_000, known: 24 * 3_600_000, changes: 60 };

export function noWalkCosts(cadence: number, floor: number, { shown, hidden }: SignalBelief): WalkCosts {
  const longest = Math.min(cadence, shown + hidden < atLeast.changes ? atLeast.unknown : atLeast.known);
  const intervals = Array.from({ length: 10 }, (_, step) => longest / 2 ** step).filter(
    (every) => every >= floor || every === longest,
  );
  return { intervals, costs: intervals.map(() => 0) };
}

/** Adds records that the batch is about, with the estimate of the signal about each. */
export function addWalkCosts(
  { intervals, costs }: WalkCosts,
  records: readonly (Omit<Worth, 'price'> & {
    readonly volatility: Volatility;
    readonly watch: PlannedSignal | null;
  })[],
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

/**
 * Returns the interval of reads of the batch with the lowest total cost at a price, if one read takes `calls` calls.
 */
export function bestWalkInterval({ intervals, costs }: WalkCosts, price: number, calls: number): number {
  const total = (index: number) => (costs[index] ?? 0) + (price * calls) / (intervals[index] ?? 1);
  const best = intervals.reduce((best, _, index) => (total(index) < total(best) ? index : best), 0);
  return intervals[best] ?? atLeast.known;
}

/**
 * Describes the product list as a signal for changes of some dates: `shows 63 % of the changes, 4 % of its signals are
 * wrong`.
 */
export function signalText({ shows, wrong, changes, signals }: SignalWorth): string {
  if (shows === null)
    return `cannot tell yet what the list shows, by ${counted(changes, 'change')} that reads have found`;
  const right = wrong === null ? `${number(signals)} signals so far` : `${percent(wrong)} of its signals are wrong`;
  return `the list shows ${percent(shows)} of the changes, ${right}`;
}

/** Describes how often the list is walked because of that. */
export function walksText(walked_every_ms: number | null): string {
  return walked_every_ms === null ? 'walked by its cadence' : `walked every ${duration(walked_every_ms)}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
