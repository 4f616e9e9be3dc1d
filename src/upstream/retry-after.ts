import type { Instant } from '../clock.ts';

const longestMs = 60 * 60 * 1000;
/** A number of seconds from which on it is an instant, in seconds since 1970, and not a duration: 2001. */
const instantFrom = 1e9;

/**
 * Returns how long a `Retry-After` asks to wait, in milliseconds between 0 and an hour: seconds, or an HTTP date
 * (RFC 9110 section 5.6.7) relative to the answer's own `Date`, else to `now`. Some services write the instant as
 * seconds since 1970, or parts of a second. Null where there is none, or none that can be read.
 */
export function parseRetryAfter(value: string | undefined, date: string | undefined, now: Instant): number | null {
  const text = value?.trim() ?? '';
  const since = parseHttpDate(date?.trim() ?? '') ?? now;
  // Digits first: Date.parse('120') is a valid date, in the year 120.
  if (/^-?\d+(\.\d+)?$/.test(text)) {
    const seconds = Math.ceil(Number(text));
    return clamp(seconds * 1000 - (seconds >= instantFrom ? since : 0));
  }
  const at = parseHttpDate(text);
  return at === null ? null : clamp(at - since);
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
