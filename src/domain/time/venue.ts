import { addDays } from './dates.ts';

/** Dates that can be the venue's today: one, or two where its time zone is unknown. */
export interface VenueToday {
  readonly earliest: string;
  readonly latest: string;
}

/** Returns the zone that the runtime knows under this IANA name, or null. */
export function knownZone(name: unknown): string | null {
  if (typeof name !== 'string' || name === '' || /^[+-]/.test(name)) return null;
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);
    return name;
  } catch {
    return null;
  }
}

/** Today where the product is; with no zone known, a day of margin at both ends of today in UTC. */
export function venueToday(timezone: string | null, now: number): VenueToday {
  const date = Temporal.Instant.fromEpochMilliseconds(now)
    .toZonedDateTimeISO(timezone ?? 'UTC')
    .toPlainDate()
    .toString();
  return timezone === null
    ? { earliest: addDays(date, -1), latest: addDays(date, 1) }
    : { earliest: date, latest: date };
}

/** From an instant on, a zone's clocks are this far ahead of UTC. */
export interface ZoneOffset {
  readonly valid_from: number;
  readonly offset_minutes: number;
}

/** West of every zone: a product whose zone is unknown keeps a date for as long as it may still be today somewhere. */
const westernmostMinutes = -12 * 60;

/**
 * Returns the offsets of a zone from the one in force at `now` up to `until`: what a view in SQL needs to tell the
 * venue's today on a day on which the daemon may be dead.
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

/**
 * Returns the instant at which a date begins at the venue (at its first hour, where clocks are put forward over
 * midnight); in UTC where the zone is unknown.
 */
export function startOfDate(date: string, timezone: string | null): number {
  return Temporal.PlainDate.from(date).toZonedDateTime(timezone ?? 'UTC').epochMilliseconds;
}
