import type { KnownProduct } from '../catalogue/product-reads.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { addDays, venueDay, venueToday } from '../kernel/time/venue.ts';
import type { ProductPolicy } from './sync.ts';

/**
 * Returns the dates of a window, counted from the venue's today. If the zone is unknown, the last date is one day
 * later.
 */
export function datesOf({ extent }: ProductPolicy, product: KnownProduct, part: number, now: Instant) {
  const window = extent.windows.find((each) => each.part === part);
  if (window === undefined) return null;
  const { earliest, latest } = venueToday(product.timezone, now);
  const end = part === extent.windows.length - 1 ? latest : earliest;
  const { began_at, ends_at } = venueDay(product.timezone, now);
  return {
    from: addDays(earliest, window.first_day),
    to: addDays(end, window.last_day),
    today: earliest,
    /** Midnights at the venue: the one that moved the window here, and the next one. */
    last_midnight: instant(began_at),
    next_midnight: ends_at,
    every: window.every,
  };
}
