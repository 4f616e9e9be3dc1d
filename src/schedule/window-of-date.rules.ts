import type { Window } from '../dates/availability.rules.ts';
import { addDays, daysBetween, venueToday } from '../kernel/time/venue.ts';

/**
 * Window of a product in which a date lies, and the number of days from the venue's today to the date; or that it lies
 * in none.
 */
export type DateInWindows =
  | { readonly kind: 'within'; readonly part: number; readonly day: number; readonly today: string }
  | { readonly kind: 'past'; readonly today: string }
  | { readonly kind: 'beyond'; readonly today: string };

/**
 * Returns the window of a date. If the venue's zone is unknown, the last window reaches a day further, as its reads do.
 */
export function windowOfDate(
  windows: readonly Window[],
  { timezone, date, now }: { readonly timezone: string | null; readonly date: string; readonly now: number },
): DateInWindows {
  const { earliest: today, latest } = venueToday(timezone, now);
  const day = daysBetween(today, date);
  if (day < 0) return { kind: 'past', today };
  const window = windows.find(({ first_day, last_day }) => first_day <= day && day <= last_day);
  if (window !== undefined) return { kind: 'within', part: window.part, day, today };
  const last = windows.at(-1);
  return last !== undefined && date <= addDays(latest, last.last_day)
    ? { kind: 'within', part: last.part, day, today }
    : { kind: 'beyond', today };
}
