import { type Tier, type Tiers, tierOfDay, type Window } from '../catalogue/availability.ts';

/** What a random read has shown of the dates of a tier, or of all dates of its window. */
export interface AuditFinding {
  readonly tier: Tier | 'all';
  readonly untrue: 0 | 1;
}

/**
 * Returns what a read of a window shows: whether anything was untrue in it, and in each tier that it has dates of. `days`:
 * the ones, counted from the venue's today, in which a shopper would notice a difference; `all`: nothing of it is sold.
 */
export function findingsOf(
  { first_day, last_day }: Pick<Window, 'first_day' | 'last_day'>,
  tiers: Tiers,
  days: readonly number[] | 'all',
): AuditFinding[] {
  const held = new Set<Tier>();
  for (let day = first_day; day <= last_day; day += 1) held.add(tierOfDay(tiers, day));
  const untrue = days === 'all' ? held : new Set(days.map((day) => tierOfDay(tiers, day)));
  const found = [...held].map((tier): AuditFinding => ({ tier, untrue: untrue.has(tier) ? 1 : 0 }));
  return [{ tier: 'all', untrue: untrue.size > 0 ? 1 : 0 }, ...found];
}
