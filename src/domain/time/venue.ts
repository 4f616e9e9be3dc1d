import { addDays } from './dates.ts';

/** Dates that can be the venue's today: one, or two ends of a range if its time zone is unknown. */
export interface VenueToday {
  readonly earliest: string;
  readonly latest: string;
}

/** Cache of zones by the name that was sent: an answer names one for each of its timeslots. */
const zones = new Map<string, string | null>();
const zonesRemembered = 1_000;

/** Returns the zone that the runtime knows under this IANA name in any case, in its own spelling; null: it knows none. */
export function knownZone(name: unknown): string | null {
  if (typeof name !== 'string') return null;
  const known = zones.get(name);
  if (known !== undefined) return known;
  const found = zoneOf(name.trim());
  if (zones.size >= zonesRemembered) zones.clear();
  zones.set(name, found);
  return found;
}

function zoneOf(name: string): string | null {
  if (name === '' || /^[+-]/.test(name)) return null;
  try {
    return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId;
  } catch {
    return null;
  }
}

/**
 * Returns the date of today at the venue. If no zone is known, a day of margin is added at both ends of today in UTC.
 */
export function venueToday(timezone: string | null, now: number): VenueToday {
  const date = dateIn(timezone ?? 'UTC', now);
  return timezone === null
    ? { earliest: addDays(date, -1), latest: addDays(date, 1) }
    : { earliest: date, latest: date };
}

/**
 * Returns when the venue's today began and when it ends. If no zone is known, it is today in UTC, because the dates at
 * both ends of the margin change with it.
 */
export function venueDay(
  timezone: string | null,
  now: number,
): { readonly began_at: number; readonly ends_at: number } {
  const date = dateIn(timezone ?? 'UTC', now);
  return { began_at: startOfDate(date, timezone), ends_at: startOfDate(addDays(date, 1), timezone) };
}

/**
 * Cache of today's date by zone: it is needed for every read, and stays the same until midnight or a change of the
 * clocks.
 */
const dates = new Map<string, { readonly date: string; readonly from: number; readonly until: number }>();

function dateIn(zone: string, now: number): string {
  const known = dates.get(zone);
  if (known !== undefined && known.from <= now && now < known.until) return known.date;
  const at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
  const date = at.toPlainDate().toString();
  const midnight = startOfDate(addDays(date, 1), zone);
  const change = at.getTimeZoneTransition('next')?.epochMilliseconds ?? midnight;
  dates.set(zone, { date, from: now, until: Math.min(midnight, change) });
  return date;
}

/** Offset of a zone's clocks from UTC (positive: ahead), from an instant on. */
export interface ZoneOffset {
  readonly valid_from: number;
  readonly offset_minutes: number;
}

/**
 * Offset west of every zone: a product whose zone is unknown keeps a date as long as it may still be today somewhere.
 */
const westernmostMinutes = -12 * 60;

/**
 * Returns the offsets of a zone, from the one in force at `now` up to `until`. With them a view in SQL determines the
 * venue's today even on a day on which the daemon does not run.
 */
export function zoneOffsets(timezone: string | null, now: number, until: number): ZoneOffset[] {
  if (timezone === null) return [{ valid_from: 0, offset_minutes: westernmostMinutes }];
  let at = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
  const offsets = [{ valid_from: 0, offset_minutes: at.offsetNanoseconds / 60e9 }];
  for (;;) {
    const next = at.getTimeZoneTransition('next');
    if (next === null || next.epochMilliseconds > until) return offsets;
    offsets.push({ valid_from: next.epochMilliseconds, offset_minutes: next.offsetNanoseconds / 60e9 });
    at = next;
  }
}

/** Returns the offset of a zone's clocks from UTC, in minutes, at a minute of a date there. */
export function offsetOn(timezone: string, date: string, minute: number): number {
  const at = Temporal.PlainDate.from(date).toPlainDateTime().add({ minutes: minute });
  return at.toZonedDateTime(timezone).offsetNanoseconds / 60e9;
}

/**
 * Returns the instant at which a date begins at the venue (at its first hour, if clocks are put forward over midnight).
 * If the zone is unknown, UTC is used.
 */
export function startOfDate(date: string, timezone: string | null): number {
  const zone = timezone ?? 'UTC';
  const key = `${zone} ${date}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  const start = Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds;
  if (starts.size >= startsRemembered) starts.clear();
  starts.set(key, start);
  return start;
}

/**
 * Cache of the first instants of dates by zone: most are needed again and again, and computing one takes ten times as
 * long.
 */
const starts = new Map<string, number>();
const startsRemembered = 40_000;
