import { hourMs } from '../kernel/clock.ts';
import type { Budget } from './budget.rules.ts';

/*
 * Computes how many calls may be spent beyond those that the freshness targets need. Idle calls buy freshness, but
 * politely: never more than a share of the rate that the service lets through, and none for a while after
 * back-pressure.
 */

/** Limits of all calls together: those for the freshness targets and the extra ones. */
export interface ExtraLimits {
  /** As a share of the learned rate. */
  readonly share: number;
  /** As a multiple of the calls that the freshness targets need. */
  readonly times: number;
}

/**
 * Most calls as a multiple of those that the freshness targets need. A small catalogue needs so few that the share of the rate would
 * not limit it.
 */
export const mostTimes = 5;

/**
 * Returns how many extra calls may be made. `needed` is the number of calls for the freshness targets, `rate` the
 * number that the service lets through; all in the same unit.
 */
export function extraCalls({ share, times }: ExtraLimits, needed: number, rate: number): number {
  return Math.max(0, Math.min(share * rate, times * needed) - needed);
}

/** Returns how many extra calls are left after the random reads, which are `share` of all calls. */
export function besideAudits(extra: number, needed: number, share: number): number {
  return Math.max(0, extra - share * (needed + extra));
}

/**
 * Returns the limits at `now`. After back-pressure only the calls for the freshness targets are allowed, twice that
 * after an hour without more back-pressure, four times after two hours. An instant in the future was set by a wrong
 * clock and counts as never.
 */
export function limitsAfterPressure({ share, times }: ExtraLimits, { pressed_at }: Budget, now: number): ExtraLimits {
  if (pressed_at > now) return { share, times };
  return { share, times: Math.min(times, 2 ** Math.floor((now - pressed_at) / hourMs)) };
}
