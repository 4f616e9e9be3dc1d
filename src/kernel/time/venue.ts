import { dayMs } from '../clock.ts';
import { instantsOf, offsetsBy, runtimeRules, type ZoneOffset, type ZoneRules } from './zone-rules.ts';

/** Rules of zones that were asked for. They are the process's, as the runtime's own ones are. */
const rules = new Map<string, ZoneRules>();
let choose: (zone: string) => ZoneRules = runtimeRules;

/** Has a function choose the rules of each zone (files/zone-files.ts), and forgets all that others have led to. */
export function chooseRules(choice: (zone: string) => ZoneRules): void {
  choose = choice;
  for (const cache of [rules, dates, starts]) cache.clear();
}

/** Returns the rules of a zone that the runtime knows. */
export function rulesOf(zone: string): ZoneRules {
  const known = rules.get(zone);
  if (known !== undefined) return known;
  const chosen = choose(zone);
  rules.set(zone, chosen);
  return chosen;
}

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
  const { offsetAt, next } = rulesOf(zone);
  const date = new Date(now + 60_000 * offsetAt(now)).toISOString().slice(0, 10);
  const midnight = startOfDate(addDays(date, 1), zone);
  const change = next(now) ?? midnight;
  dates.set(zone, { date, from: now, until: Math.min(midnight, change) });
  return date;
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
  return offsetsBy(rulesOf(timezone), now, until);
}

/** Returns the offset of a zone's clocks from UTC, in minutes, at a minute of a date there. */
export function offsetOn(timezone: string, date: string, minute: number): number {
  const zone = rulesOf(timezone);
  return zone.offsetAt(instantsOf(zone, Date.parse(date) + 60_000 * minute).first);
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
  const start = instantsOf(rulesOf(zone), Date.parse(date)).first;
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

/* Venue dates: text of the form `YYYY-MM-DD`, counted in whole days and never converted to instants. */

/** Dates from the first to the last, both included. */
export interface Dates {
  readonly from: string;
  readonly to: string;
}

const calendarDate = /^\d{4}-\d{2}-\d{2}$/;

/** Returns whether a text is a date of the calendar: 2026-02-29 is not. */
export function isDate(text: unknown): text is string {
  return typeof text === 'string' && calendarDate.test(text) && toDate(dayNumber(text)) === text;
}

/** Returns the date that lies `days` after another. */
export function addDays(date: string, days: number): string {
  return toDate(dayNumber(date) + days);
}

/** Returns how many days `to` lies after `from`. */
export function daysBetween(from: string, to: string): number {
  return dayNumber(to) - dayNumber(from);
}

/** Returns the day of the week: 0 is Monday. */
export function weekdayOf(date: string): number {
  return (((dayNumber(date) + 3) % 7) + 7) % 7;
}

/** Returns every date from `from` to `to`, both included; none if `to` lies before `from`. */
export function datesBetween(from: string, to: string): string[] {
  const first = dayNumber(from);
  const length = Math.max(0, dayNumber(to) - first + 1);
  return Array.from({ length }, (_, index) => toDate(first + index));
}

/** Return the earlier, and the later of two dates. */
export function earlier(a: string, b: string): string {
  return a < b ? a : b;
}

export function later(a: string, b: string): string {
  return a > b ? a : b;
}

function dayNumber(date: string): number {
  return Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)) - 1, Number(date.slice(8, 10))) / dayMs;
}

/**
 * Cache of printed dates: the dates of a year are needed again and again, and printing one takes longer than a lookup.
 */
const printed = new Map<number, string>();

function toDate(day: number): string {
  const known = printed.get(day);
  if (known !== undefined) return known;
  if (printed.size > 4000) printed.clear();
  const date = new Date(day * dayMs).toISOString().slice(0, 10);
  printed.set(day, date);
  return date;
}
