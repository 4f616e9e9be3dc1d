import { describe, expect, it } from 'vitest';
import { firstInstant, isZone, patternProblem, wallClock } from '../../src/domain/time/wall-clock.ts';

const iso = (at: number) => new Date(at).toISOString().slice(0, 16);

/** The instants of a pattern from one on, each asked from the one before. */
function instants(at: string, zone: string, from: string, count: number): string[] {
  const { next } = wallClock({ at, zone });
  const found: number[] = [];
  for (let at = Date.parse(from); found.length < count; at = found.at(-1) ?? 0) found.push(next(at));
  return found.map(iso);
}

describe('the instants of a wall clock', () => {
  it.each([
    [
      'over the end of summer time',
      '0 4 * * *',
      'Europe/Amsterdam',
      '2026-10-24T12:00Z',
      ['2026-10-25T03:00', '2026-10-26T03:00'],
    ],
    [
      'come an hour later where 02:30 does not exist',
      '30 2 * * *',
      'Europe/Amsterdam',
      '2027-03-27T12:00Z',
      ['2027-03-28T01:00', '2027-03-29T00:30'],
    ],
    [
      'come once where 02:30 exists twice',
      '30 2 * * *',
      'Europe/Amsterdam',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'move by half an hour on Lord Howe',
      '0 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-02T20:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:00'],
    ],
    [
      'come at one where midnight does not exist',
      '0 0 * * *',
      'America/Santiago',
      '2026-09-05T12:00Z',
      ['2026-09-06T04:00', '2026-09-07T03:00'],
    ],
    ['come on leap days alone', '0 4 29 2 *', 'UTC', '2026-10-24T12:00Z', ['2028-02-29T04:00', '2032-02-29T04:00']],
    [
      'are of the zone on the last second before one',
      '0 4 * * *',
      'UTC',
      '2026-10-24T03:59:59.999Z',
      ['2026-10-24T04:00', '2026-10-25T04:00'],
    ],
  ] as const)('%s', (_, at, zone, from, expected) => {
    expect(instants(at, zone, from, expected.length)).toEqual(expected);
  });

  it('are the same whether they are asked at every tick or once, also after a clock was set back', () => {
    const kept = wallClock({ at: '30 2 * * *', zone: 'Europe/Amsterdam' });
    const hour = 3_600_000;
    const start = Date.parse('2026-10-24T00:00Z');
    for (const step of [...Array.from({ length: 96 }, (_, step) => step / 2), 3, 30, 1.5]) {
      const from = start + step * hour;
      expect(kept.next(from)).toBe(wallClock({ at: '30 2 * * *', zone: 'Europe/Amsterdam' }).next(from));
    }
  });
});

it.each([
  ['0 4 * * *', null],
  ['*/15 0-6 1,15 JAN-MAR mon', null],
  ['0 4 L * *', null],
  ['0 4 29 2 *', null],
  ['0 4 30 2 *', 'never'],
  ['0 4 31 4,6,9,11 *', 'never'],
  ['60 4 * * *', 'bad'],
  ['0 4 * *', 'bad'],
  ['0 0 4 * * *', 'bad'],
  ['@daily', 'bad'],
  ['every day', 'bad'],
  ['', 'bad'],
] as const)('the pattern "%s" has the problem %s', (pattern, problem) => {
  expect(patternProblem(pattern)).toBe(problem);
});

it.each([
  ['UTC', true],
  ['Europe/Amsterdam', true],
  ['America/Argentina/Buenos_Aires', true],
  ['Europe/Nowhere', false],
  ['+02:00', false],
  ['GMT+2', false],
  ['', false],
] as const)('the name "%s" of a time zone is known: %s', (name, known) => {
  expect(isZone(name)).toBe(known);
});

describe('what is tied to a wall clock, and was missed while no daemon ran,', () => {
  const daily = wallClock({ at: '0 4 * * *', zone: 'UTC' });
  const weekdays = wallClock({ at: '0 4 * * 1-5', zone: 'UTC' });
  it.each([
    [
      'waits for its instant where it was done at the last one',
      daily,
      '2026-10-24T04:00',
      '2026-10-24T20:00',
      '2026-10-25T04:00',
    ],
    ['is made up an hour after the start where nobody knows', daily, null, '2026-10-24T20:00', '2026-10-24T21:00'],
    [
      'is made up an hour after the start when older than one and a half intervals',
      daily,
      '2026-10-23T04:00',
      '2026-10-24T20:00',
      '2026-10-24T21:00',
    ],
    ['is made up when it becomes that old', daily, '2026-10-23T04:00', '2026-10-24T05:00', '2026-10-24T16:00'],
    ['comes at its instant where that is sooner', daily, null, '2026-10-24T03:30', '2026-10-24T04:00'],
    ['is not believed of the future', daily, '2038-01-19T04:00', '2026-10-24T20:00', '2026-10-24T21:00'],
    [
      'is not missed over a weekend that it does not know',
      weekdays,
      '2026-10-23T04:00',
      '2026-10-25T20:00',
      '2026-10-26T04:00',
    ],
    ['is made up on a Monday', weekdays, '2026-10-23T04:00', '2026-10-26T10:00', '2026-10-26T16:00'],
  ] as const)('%s', (_, clock, done, now, expected) => {
    const done_at = done === null ? null : Date.parse(`${done}Z`);
    expect(iso(firstInstant(clock, done_at, Date.parse(`${now}Z`)))).toBe(expected);
  });
});
