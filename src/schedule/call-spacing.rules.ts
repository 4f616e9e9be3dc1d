import type { Budget } from '../service/budget.rules.ts';
import { triggeredShare } from './lanes.rules.ts';

/** Number of triggered calls that may start at once after a rest: those of one product. */
const triggeredBurst = 8;

/**
 * Returns how many calls may start at once after a rest: those of a tenth of a second, which makes up for late timers,
 * but never more than can be in flight. With ten calls a second or fewer that is one, so that a burst never exceeds a
 * limit counted by the second.
 */
export function burst({ rate }: Budget, concurrency: number): number {
  return Math.max(1, Math.min(rate / 10, concurrency));
}

/**
 * Returns the time until a call that is due at `due` may start, in milliseconds on the clock of `due` and `now`; 0: at
 * once.
 */
export function turnIn(budget: Budget, concurrency: number, due: number, now: number): number {
  return Math.max(0, due - credit(budget, concurrency) - now);
}

/**
 * Returns when the next call is due if one starts at `now`. In any second at most the rate and one burst of calls
 * start.
 */
export function dueAfter(budget: Budget, due: number, now: number): number {
  return Math.max(due, now) + 1000 / budget.rate;
}

/**
 * Returns the time until a triggered call may start, as `turnIn`: triggered calls have a share of the rate and no more.
 */
export function triggeredTurnIn(budget: Budget, due: number, now: number): number {
  return Math.max(0, due - ((triggeredBurst - 1) * 1000) / (budget.rate * triggeredShare) - now);
}

/** Returns when the next triggered call is due if one starts at `now`, like `dueAfter`. */
export function triggeredDueAfter(budget: Budget, due: number, now: number): number {
  return Math.max(due, now) + 1000 / (budget.rate * triggeredShare);
}

function credit(budget: Budget, concurrency: number): number {
  return ((burst(budget, concurrency) - 1) * 1000) / budget.rate;
}
