import { type Tier, type Tiers, tierOfDay, type Window } from '../catalogue/availability.ts';

/** Result of a random read for the dates of a tier, or for all dates of its window. */
export interface AuditFinding {
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
