import { type Instant, instant } from '../../clock.ts';
import { addDays } from '../../domain/time/dates.ts';
import { venueDay, venueToday } from '../../domain/time/venue.ts';
import type { KnownProduct } from '../../mirror/catalogue/product/reads.ts';
import type { ProductPolicy } from './context.ts';

/** Returns the dates of a window from the venue's today; the last one is a day longer if the zone is unknown. */
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
    /** When midnight moved it here, and when the next one moves it on. */
    moved_at: instant(began_at),
    midnight: ends_at,
    every: window.every,
  };
}
