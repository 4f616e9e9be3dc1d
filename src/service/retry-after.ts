import type { Instant } from '../kernel/clock.ts';

const longestMs = 60 * 60 * 1000;
/** A number this close to now, as seconds or milliseconds since 1970, is an instant and not a duration. */
const nearMs = 24 * 60 * 60 * 1000;

/**
 * Returns how long a `Retry-After` asks to wait, in milliseconds between 0 and an hour: seconds, or an HTTP date
 * (RFC 9110 section 5.6.7). Some services write the instant as a number, or parts of a second. An instant counts from the
 * answer's own `Date` or from `now`, whichever leaves less: a cache may send an old `Date`, and our clock may be wrong.
 * Null where there is none, or none that can be read.
 */
export function parseRetryAfter(value: string | undefined, date: string | undefined, now: Instant): number | null {
  const text = value?.trim() ?? '';
  const since = parseHttpDate(date?.trim() ?? '') ?? now;
  // Digits first: Date.parse('120') is a valid date, in the year 120.
  if (/^-?\d+(\.\d+)?$/.test(text)) {
    const seconds = Math.ceil(Number(text));
    const isNear = (at: number) => Math.min(Math.abs(at - since), Math.abs(at - now)) <= nearMs;
    const at = [seconds * 1000, seconds].find(isNear);
    return at === undefined ? clamp(seconds * 1000) : waitUntil(at, [since, now]);
  }
  const at = parseHttpDate(text);
  return at === null ? null : waitUntil(at, [since, now]);
}

/** Returns the shortest wait by any of the clocks; 0 if the instant has passed by all. */
function waitUntil(at: number, clocks: readonly number[]): number {
  const waits = clocks.map((clock) => at - clock).filter((wait) => wait > 0);
  return waits.length === 0 ? 0 : clamp(Math.min(...waits));
}

/** Only what names its zone: Date.parse reads the rest in the machine's own. */
function parseHttpDate(text: string): number | null {
  if (/^[A-Za-z]{3,9}, .*(GMT|UTC|[+-]\d{4})$/.test(text)) return instant(text);
  // The form of C's asctime, which has no zone and means GMT.
  if (/^[A-Za-z]{3} [A-Za-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4}$/.test(text)) return instant(`${text} GMT`);
  return null;
}

function instant(text: string): number | null {
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, 0), longestMs);
}
