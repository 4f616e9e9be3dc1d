import { expect, test } from 'vitest';
import { instant } from '../../src/kernel/clock.ts';
import { parseRetryAfter } from '../../src/service/retry-after.ts';

const now = instant(Date.parse('Sat, 21 Nov 2026 12:00:00 GMT'));
const hour = 3_600_000;

test.for<[claim: string, value: string | undefined, date: string | undefined, ms: number | null]>([
  ['whole seconds are seconds, not a year', '120', undefined, 120_000],
  ['spaces around it do not matter', ' 2 ', undefined, 2_000],
  ['zero is zero', '0', undefined, 0],
  ['negative seconds are zero', '-5', undefined, 0],
  ['an hour is the longest', '3601', undefined, hour],
  ['absurd seconds are an hour', '9'.repeat(400), undefined, hour],
  ['a date counts from the answer’s own', 'Sat, 21 Nov 2026 10:00:30 GMT', 'Sat, 21 Nov 2026 10:00:00 GMT', 30_000],
  ['a date counts from now without one', 'Sat, 21 Nov 2026 12:01:00 GMT', undefined, 60_000],
  ['a date counts from now where the answer’s is garbage', 'Sat, 21 Nov 2026 12:01:00 GMT', '120', 60_000],
  ['a date that has passed is zero', 'Sat, 21 Nov 2026 11:00:00 GMT', undefined, 0],
  ['a date far ahead is an hour', 'Fri, 31 Dec 9999 23:59:59 GMT', undefined, hour],
  ['the date of RFC 850 is read', 'Saturday, 21-Nov-26 12:00:10 GMT', undefined, 10_000],
  ['the date of asctime is GMT', 'Sat Nov 21 12:00:10 2026', undefined, 10_000],
  ['a date without a zone is nothing', 'Sat, 21 Nov 2026 12:00:10', undefined, null],
  ['a fraction is rounded up', '1.5', undefined, 2_000],
  ['seconds since 1970 count from now', String((now + 20_000) / 1000), undefined, 20_000],
  ['milliseconds since 1970 count from now', String(now + 20_000), undefined, 20_000],
  ['seconds since 1970 that have just passed are zero', String((now - 20_000) / 1000), undefined, 0],
  ['seconds since 1970 of another year are an hour', '1700000000', undefined, hour],
  [
    'seconds since 1970 count from the answer’s own date where our clock is behind',
    String((now + 3_500_000) / 1000),
    'Sat, 21 Nov 2026 12:58:00 GMT',
    20_000,
  ],
  [
    'seconds since 1970 count from now where a cache sends an old date',
    String((now + 20_000) / 1000),
    'Sat, 21 Nov 2026 11:02:00 GMT',
    20_000,
  ],
  ['a unit is nothing', '5s', undefined, null],
  ['an exponent is nothing', '1e3', undefined, null],
  ['an ISO date is nothing', '2026-11-21T12:00:10Z', undefined, null],
  ['words are nothing', 'Soon, very GMT', undefined, null],
  ['an empty value is nothing', '', undefined, null],
  ['no value is nothing', undefined, undefined, null],
])('Retry-After: %s', ([, value, date, ms]) => {
  expect(parseRetryAfter(value, date, now)).toBe(ms);
});
