import { dayMs, minuteMs } from '../clock.ts';
/** Rules by which the clocks of a time zone are set. */
export interface ZoneRules {
  /** Returns the offset from UTC at an instant, in minutes (positive: ahead). */
  offsetAt(at: number): number;
  /** Returns the first instant after another at which the rules may set the clocks; null: they never do again. */
  next(at: number): number | null;
}

/** Offset of a zone's clocks from UTC (positive: ahead), from an instant on. */
export interface ZoneOffset {
  readonly valid_from: number;
  readonly offset_minutes: number;
}

/** Returns the rules that the runtime has of a zone it knows. */
export function runtimeRules(zone: string): ZoneRules {
  const zoned = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  return {
    offsetAt: (at) => zoned(at).offsetNanoseconds / 60e9,
    next: (at) => zoned(at).getTimeZoneTransition('next')?.epochMilliseconds ?? null,
  };
}

/**
 * Combines two readings of a zone, if nobody knows which is right. The clock is that which is ahead, so a time has passed
 * as soon as it has by either reading.
 */
export function eitherRules(one: ZoneRules, other: ZoneRules): ZoneRules {
  return {
    offsetAt: (at) => Math.max(one.offsetAt(at), other.offsetAt(at)),
    next: (at) => {
      const nexts = [one.next(at), other.next(at)].filter((each) => each !== null);
      return nexts.length === 0 ? null : Math.min(...nexts);
    },
  };
}

/** Returns the offsets by the rules of a zone, from the one in force at `now` up to `until`. */
export function offsetsBy({ offsetAt, next }: ZoneRules, now: number, until: number): ZoneOffset[] {
  const offsets = [{ valid_from: 0, offset_minutes: offsetAt(now) }];
  for (let at = next(now); at !== null && at <= until; at = next(at)) {
    const offset_minutes = offsetAt(at);
    if (offset_minutes !== offsets.at(-1)?.offset_minutes) offsets.push({ valid_from: at, offset_minutes });
  }
  return offsets;
}

/** Returns the first instant from `now` to `until` at which two lists of offsets differ; null: they agree. */
export function firstDifference(
  one: readonly ZoneOffset[],
  other: readonly ZoneOffset[],
  { now, until }: { readonly now: number; readonly until: number },
): number | null {
  const offsetIn = (offsets: readonly ZoneOffset[], at: number) =>
    offsets.findLast(({ valid_from }) => valid_from <= at)?.offset_minutes;
  const changes = [...one, ...other].map(({ valid_from }) => valid_from).filter((at) => at > now && at <= until);
  return [now, ...changes.sort((a, b) => a - b)].find((at) => offsetIn(one, at) !== offsetIn(other, at)) ?? null;
}

/**
 * Returns the instants at which the clocks of a zone show a local time (in milliseconds, as if it were UTC): the first and
 * the last. If they never show it, both are the instant at which they pass over it.
 */
export function instantsOf(rules: ZoneRules, local: number): { readonly first: number; readonly last: number } {
  const { offsetAt } = rules;
  // No clock is more than a day away from UTC.
  const [from, until] = [local - dayMs, local + dayMs];
  const before = offsetAt(from);
  if (before === offsetAt(until)) return { first: local - before * minuteMs, last: local - before * minuteMs };
  const offsets = offsetsBy(rules, from, until);
  const shown = offsets
    .map(({ offset_minutes }) => ({ at: local - offset_minutes * minuteMs, offset_minutes }))
    .filter(({ at, offset_minutes }) => offsetAt(at) === offset_minutes)
    .map(({ at }) => at);
  if (shown.length > 0) return { first: Math.min(...shown), last: Math.max(...shown) };
  const after = offsets.find(({ valid_from, offset_minutes }) => valid_from + offset_minutes * minuteMs > local);
  const change = after?.valid_from ?? until;
  return { first: change, last: change };
}
