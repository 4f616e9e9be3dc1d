import { type Tier, type Tiers, tierOfDay, type Window } from '../dates/availability.rules.ts';
import { number } from '../kernel/format.ts';
import type { Budget } from '../service/budget.rules.ts';
import { limitsAfterPressure } from '../service/extra-calls.rules.ts';

/*
 * Estimates how much of the data shown to shoppers is wrong, from random reads: each shows whether the mirror was still
 * correct. They are drawn in proportion to what shoppers see, so the plain share of wrong ones estimates the share of
 * shoppers' time.
 */

/** Random reads of one period, and how many of them found wrong data. */
export interface Audited {
  readonly audited: number;
  readonly outdated: number;
}

export interface OutdatedShare extends Audited {
  /** From 0 to 1; null if there are too few reads. */
  readonly share: number | null;
  /** The real share lies within this margin of it 19 times in 20; null if the share is. */
  readonly margin: number | null;
}

/**
 * Length of the periods in which reads are counted, which is the highest age of near dates, and the time for which they
 * are stored.
 */
export const auditPeriodMs = 6 * 3_600_000;
export const auditMemoryMs = 7 * 86_400_000;

/** Number of reads below which no share is returned. */
export const fewestAudits = 30;

/** The normal quantile of 95 %. */
const quantile = 1.96;

/**
 * Returns the share of reads that found wrong data. Its margin is the farther bound of Wilson's interval, which is
 * honest for few reads and if none found anything. Changes that happen together make the reads of a period similar, so
 * these reads count for fewer: by the factor by which the periods differ more than by chance.
 */
export function outdatedShare(periods: readonly Audited[]): OutdatedShare {
  const audited = periods.reduce((sum, each) => sum + each.audited, 0);
  const outdated = periods.reduce((sum, each) => sum + each.outdated, 0);
  if (audited < fewestAudits) return { audited, outdated, share: null, margin: null };
  const share = outdated / audited;
  const { low, high } = wilson(share, audited / alikeness(periods, audited, share));
  return { audited, outdated, share, margin: Math.max(high - share, share - low) };
}

/** Returns the bounds of Wilson's interval for a share found in `reads` reads. */
function wilson(share: number, reads: number): { readonly low: number; readonly high: number } {
  const square = quantile ** 2 / reads;
  const middle = (share + square / 2) / (1 + square);
  const half = (quantile * Math.sqrt((share * (1 - share)) / reads + square / (4 * reads))) / (1 + square);
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Returns how many times the periods vary more than independent reads would: the design effect, at least 1. */
function alikeness(periods: readonly Audited[], audited: number, share: number): number {
  const by_chance = audited * share * (1 - share);
  if (by_chance === 0 || periods.length < 2) return 1;
  const varied = periods.reduce((sum, each) => sum + (each.outdated - each.audited * share) ** 2, 0);
  return Math.max(1, (varied * periods.length) / (periods.length - 1) / by_chance);
}

/*
 * Draws which records are read at random, and when: independent of when they are due, because otherwise the measure
 * would be one of the schedule.
 */

/** Draws points on records that are laid end to end, each as long as its weight. */
interface Draw {
  /** Returns the instants at which the next record is read, one for each point that falls on it. */
  next(weight: number): number[];
}

/**
 * Draws about `reads` instants between `from` and `to` over records that weigh `total` together. The points are those
 * of a Poisson process over both weight and time: random reads see each state of a record as often as shoppers do.
 */
export function drawAudits(
  { from, to, reads, total }: { from: number; to: number; reads: number; total: number },
  chance: () => number,
): Draw {
  const gap = () => (reads > 0 ? (-Math.log(1 - chance()) * total) / reads : Number.POSITIVE_INFINITY);
  let ahead = gap();
  return {
    next: (weight) => {
      const instants: number[] = [];
      for (; ahead < weight; ahead += gap()) instants.push(from + chance() * (to - from));
      ahead -= weight;
      return instants;
    },
  };
}

/**
 * Returns whether random reads may be made now. They may not while no call may be made, nor for an hour after
 * back-pressure.
 */
export function mayAudit(budget: Budget, now: number): boolean {
  const { times } = limitsAfterPressure({ share: 1, times: 2 }, budget, now);
  return times > 1 && budget.not_before <= now && budget.unreachable_since === null;
}

/** Result of a random read for the dates of a tier, or for all dates of its window. */
interface AuditFinding {
  readonly tier: Tier | 'all';
  readonly outdated: 0 | 1;
}

/**
 * Returns the results of a read of a window: whether anything was wrong in it, and in each tier that has dates in it.
 * `days`: the days, counted from the venue's today, on which a shopper would notice a difference; `all` if nothing of
 * the window is sold.
 */
export function findingsOf(
  { first_day, last_day }: Window,
  tiers: Tiers,
  days: readonly number[] | 'all',
): AuditFinding[] {
  const held = new Set<Tier>();
  for (let day = first_day; day <= last_day; day += 1) held.add(tierOfDay(tiers, day));
  const outdated = days === 'all' ? held : new Set(days.map((day) => tierOfDay(tiers, day)));
  const found = [...held].map((tier): AuditFinding => ({ tier, outdated: outdated.has(tier) ? 1 : 0 }));
  return [{ tier: 'all', outdated: outdated.size > 0 ? 1 : 0 }, ...found];
}

/**
 * Returns a share as people read it: `1.2 % ± 0.3`. The margin is never rounded down. Null if there are too few reads.
 */
export function outdatedText({ share, margin }: OutdatedShare): string | null {
  if (share === null || margin === null) return null;
  return `${(100 * share).toFixed(1)} % ± ${(Math.ceil(1000 * margin - 1e-9) / 10).toFixed(1)}`;
}

/** Returns as text why there is no share yet. */
export function cannotTell({ audited }: OutdatedShare): string {
  return `cannot tell yet: ${number(audited)} of at least ${fewestAudits} random reads`;
}
