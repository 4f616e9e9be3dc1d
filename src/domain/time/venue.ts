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
  const date = dateIn(timezone ?? 'UTC', now);
  return timezone === null
    ? { earliest: addDays(date, -1), latest: addDays(date, 1) }
    : { earliest: date, latest: date };
}

/**
 * Returns when the venue's today began and when it ends; with no zone known, when that of UTC does, with which the dates at
 * both ends of the margin change.
 */
export function venueDay(
  timezone: string | null,
  now: number,
): { readonly began_at: number; readonly ends_at: number } {
  const date = dateIn(timezone ?? 'UTC', now);
  return { began_at: startOfDate(date, timezone), ends_at: startOfDate(addDays(date, 1), timezone) };
}

/** Dates as they were last found, by zone: asked for at every read, and the same until midnight or a change of the clocks. */
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
  const zone = timezone ?? 'UTC';
  const key = `${zone} ${date}`;
  const known = starts.get(key);
  if (known !== undefined) return known;
  const start = Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds;
  if (starts.size >= startsRemembered) starts.clear();
  starts.set(key, start);
  return start;
}

/** Zones by dates within the horizon: most are asked for again and again, and finding one takes ten times as long. */
const starts = new Map<string, number>();
const startsRemembered = 40_000;
