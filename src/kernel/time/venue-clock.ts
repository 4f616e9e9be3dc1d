import { dayMs } from '../clock.ts';
import { addDays, rulesOf, startOfDate, zoneOffsets } from './venue.ts';
import { instantsOf } from './zone-rules.ts';

/** A minute of a date at the venue. */
export interface VenueMinute {
  readonly date: string;
  /** Minutes since midnight. */
  readonly minute: number;
}

/**
 * Returns the minute up to which the venue's day has certainly passed. When clocks are put back, an hour occurs twice;
 * its times have passed only after the second time. If no zone is known, the clock of the westernmost zone is used.
 */
export function venueClock(timezone: string | null, now: number): VenueMinute {
  const ms = Math.min(
    ...zoneOffsets(timezone, now, now + dayMs).map(
      ({ valid_from, offset_minutes }) => Math.max(now, valid_from - 1) + offset_minutes * 60_000,
    ),
  );
  return { date: dateAt(ms), minute: Math.floor((((ms % dayMs) + dayMs) % dayMs) / 60_000) };
}

/**
 * Returns how many minutes of a date have certainly passed at the venue: the number of the last one, -1 if the date has
 * not begun, 1440 if it is over.
 */
export function minutesPassed(timezone: string | null, date: string, now: number): number {
  const clock = venueClock(timezone, now);
  if (date > clock.date) return -1;
  return date < clock.date ? 24 * 60 : clock.minute;
}

/**
 * Returns for the minutes of a date the instants at which they begin at the venue. If one occurs twice, the second time
 * counts; if it does not occur, the change of the clocks. If no zone is known, the westernmost one is used.
 */
export function venueInstants(timezone: string | null, date: string): (minute: number) => number {
  const start = startOfDate(date, timezone);
  if (timezone === null) return (minute) => start - westernmostMs + minute * 60_000;
  const end = startOfDate(addDays(date, 1), timezone);
  if (end - start === dayMs) return (minute) => start + minute * 60_000;
  return (minute) => {
    if (minute === 0) return start;
    return minute >= 24 * 60 ? end : instantsOf(rulesOf(timezone), Date.parse(date) + minute * 60_000).last;
  };
}

const westernmostMs = 60_000 * (zoneOffsets(null, 0, 0)[0]?.offset_minutes ?? 0);

/** Returns the UTC date of an instant. */
function dateAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
