import type { Budget } from './budget.ts';

/*
 * How many calls may be spent beyond what the promises need. Idle calls buy freshness, but politely: never more than a
 * share of what the service lets through, and none for a while after it pushed back.
 */

/** Limits of what the promises need and extra calls come to together. */
export interface ExtraLimits {
  /** As a share of the learned rate. */
  readonly share: number;
  /** As a multiple of what the promises need. */
  readonly times: number;
}

const hourMs = 3_600_000;

/**
 * Returns how many extra calls may be made, where the promises `needed` so many and the service lets through `rate`; all
 * in the same unit.
 */
export function extraCalls({ share, times }: ExtraLimits, needed: number, rate: number): number {
  return Math.max(0, Math.min(share * rate, times * needed) - needed);
}

/** Returns how many of the extra calls are left when random reads (`share` of all calls) are made of them. */
export function besideAudits(extra: number, needed: number, share: number): number {
  return Math.max(0, extra - share * (needed + extra));
}

/**
 * Returns the limits as they are now: after back-pressure only what the promises need, twice that after an hour without
 * more of it, four times after two. An instant in the future was set by a wrong clock, and counts as never.
 */
export function limitsAfterPressure(
  { share, times }: ExtraLimits,
  { pressed_at }: Pick<Budget, 'pressed_at'>,
  now: number,
): ExtraLimits {
  if (pressed_at > now) return { share, times };
  return { share, times: Math.min(times, 2 ** Math.floor((now - pressed_at) / hourMs)) };
}
