import type { Budget } from '../budget/budget.ts';
import { limitsAfterPressure } from '../budget/extra-calls.ts';

/*
 * Draws which records are read at random, and when: independent of when they are due, because otherwise the measure
 * would be one of the schedule.
 */

/** Draws points on records that are laid end to end, each as long as its weight. */
export interface Draw {
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
