const longestMs = 60 * 60 * 1000;

/**
 * How long a `Retry-After` asks to wait, in milliseconds between 0 and an hour: whole seconds, or an HTTP date
 * relative to the answer's own `Date` (else to `now`). Null where there is none, or none that can be read.
 */
export function parseRetryAfter(value: string | undefined, date: string | undefined, now: number): number | null {
  const text = value?.trim() ?? '';
  // Digits first: Date.parse('120') is a valid date, in the year 120.
  if (/^\d+$/.test(text)) return clamp(Number(text) * 1000);
  if (/^-\d+$/.test(text)) return 0;
  if (!/^[A-Za-z]{3,9}, /.test(text)) return null;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return null;
  const answeredAt = Date.parse(date ?? '');
  return clamp(at - (Number.isNaN(answeredAt) ? now : answeredAt));
}

function clamp(ms: number): number {
  return Math.min(Math.max(ms, 0), longestMs);
}
