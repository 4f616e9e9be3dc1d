import { dayMs } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { addDays, isDate, venueToday } from '../kernel/time/venue.ts';
import { furthestOf, type SyncFacts } from './sync.ts';

interface Reach {
  /** The limit for past dates, in milliseconds back; 0: none before today. */
  readonly history_ms?: number;
  /** Days that are mirrored; left out: the longest horizon of any category. */
  readonly horizon?: number;
}

/**
 * Throws `date-out-of-reach` for a date that is not in the calendar, is past at every venue, or lies beyond the
 * horizon, and if `from` is after `to`. The error names the limit.
 */
export function refuseDates(
  { clock, policy }: SyncFacts,
  dates: Readonly<Record<string, string | null>>,
  { history_ms = 0, horizon = furthestOf(policy).cadence.availability.horizon }: Reach = {},
): void {
  const now = clock.now();
  const first = venueToday(null, now - history_ms).earliest;
  const last = addDays(venueToday(null, now).latest, horizon - 1);
  for (const [name, date] of Object.entries(dates)) {
    if (date === null) continue;
    if (!isDate(date)) throw refused(`${name} ${date} is not a calendar date`, 'give a date as YYYY-MM-DD');
    if (date < first) {
      const why = history_ms === 0 ? 'today at the westernmost venue' : `${Math.floor(history_ms / dayMs)} days back`;
      throw refused(`${name} ${date} is in the past`, `the earliest date is ${first}, ${why}`);
    }
    if (date > last)
      throw refused(
        `${name} ${date} is beyond the horizon`,
        `the last mirrored date is ${last}: cadence.availability.horizon is ${horizon} days`,
      );
  }
  const { from = null, to = null } = dates;
  if (from !== null && to !== null && from > to) throw refused(`from ${from} is after to ${to}`, 'swap them');
}

function refused(message: string, hint: string): CataloguedError {
  return new CataloguedError('date-out-of-reach', message, { exitCode: exitCodes.usage, hint });
}
