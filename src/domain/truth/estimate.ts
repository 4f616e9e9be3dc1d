/*
 * How much of what shoppers see is untrue, estimated from random reads: each shows whether what the mirror had was still
 * so. They are drawn in proportion to what shoppers see, so the plain share of untrue ones estimates shoppers' time.
 */

/** Random reads of one period, and those of them that found something untrue. */
export interface Audited {
  readonly audited: number;
  readonly untrue: number;
}

export interface UntrueShare extends Audited {
  /** From 0 to 1; null: too few reads to tell. */
  readonly share: number | null;
  /** The true share lies within this much of it, 19 times in 20; null with it. */
  readonly margin: number | null;
}

/** Reads are counted in periods of so long, and remembered for so long: periods of the oldest near dates. */
export const auditPeriodMs = 6 * 3_600_000;
export const auditMemoryMs = 7 * 86_400_000;

/** With fewer reads nothing is said. */
export const fewestAudits = 30;

/** The normal quantile of 95 %. */
const quantile = 1.96;

/**
 * Returns the share of reads that found something untrue. Its margin is the further bound of Wilson's interval, which is
 * honest about few reads and about none that found anything. Changes that come together make the reads of a period alike,
 * which then count for fewer: by how much more the periods differ than chance lets them.
 */
export function untrueShare(periods: readonly Audited[]): UntrueShare {
  const audited = periods.reduce((sum, each) => sum + each.audited, 0);
  const untrue = periods.reduce((sum, each) => sum + each.untrue, 0);
  if (audited < fewestAudits) return { audited, untrue, share: null, margin: null };
  const share = untrue / audited;
  const { low, high } = wilson(share, audited / alikeness(periods, audited, share));
  return { audited, untrue, share, margin: Math.max(high - share, share - low) };
}

/** Returns the bounds of Wilson's interval of a share that so many reads showed. */
export function wilson(share: number, reads: number): { readonly low: number; readonly high: number } {
  const square = quantile ** 2 / reads;
  const middle = (share + square / 2) / (1 + square);
  const half = (quantile * Math.sqrt((share * (1 - share)) / reads + square / (4 * reads))) / (1 + square);
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

/** Returns by how many times the periods vary more than independent reads would: the design effect, at least 1. */
function alikeness(periods: readonly Audited[], audited: number, share: number): number {
  const by_chance = audited * share * (1 - share);
  if (by_chance === 0 || periods.length < 2) return 1;
  const varied = periods.reduce((sum, each) => sum + (each.untrue - each.audited * share) ** 2, 0);
  return Math.max(1, (varied * periods.length) / (periods.length - 1) / by_chance);
}
