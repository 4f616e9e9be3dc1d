import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import { firstInstant, isZone, patternProblem, wallClock } from '../../src/kernel/time/wall-clock.ts';
import { isImplausible, judgeJump, judgeStart } from '../../src/schedule/clock-doubt.rules.ts';

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
    [
      'keep the night run in spring where the pattern has two hours',
      '0 2,14 * * *',
      'Europe/Amsterdam',
      '2027-03-27T20:00Z',
      ['2027-03-28T01:00', '2027-03-28T12:00', '2027-03-29T00:00'],
    ],
    [
      'have one night run in autumn where the pattern has two hours',
      '0 2,14 * * *',
      'Europe/Amsterdam',
      '2026-10-24T20:00Z',
      ['2026-10-25T00:00', '2026-10-25T13:00', '2026-10-26T01:00'],
    ],
    [
      'keep a midnight that does not exist where the pattern has four hours',
      '0 */6 * * *',
      'America/Santiago',
      '2026-09-05T23:00Z',
      ['2026-09-06T04:00', '2026-09-06T09:00', '2026-09-06T15:00', '2026-09-06T21:00'],
    ],
    [
      'meet in one where several do not exist',
      '*/20 * * * *',
      'Europe/Amsterdam',
      '2027-03-28T00:30Z',
      ['2027-03-28T00:40', '2027-03-28T01:00', '2027-03-28T01:20'],
    ],
    [
      'pause while an hour comes the second time',
      '*/20 * * * *',
      'Europe/Amsterdam',
      '2026-10-25T00:30Z',
      ['2026-10-25T00:40', '2026-10-25T02:00', '2026-10-25T02:20'],
    ],
    [
      'go on after an hour that comes twice for one who asks within its second time',
      '*/20 * * * *',
      'Europe/Amsterdam',
      '2026-10-25T01:30Z',
      ['2026-10-25T02:00', '2026-10-25T02:20'],
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

/** The times of a pattern on each date, by counting minutes; each is an instant of the zone as Temporal has it. */
function byCounting(
  pattern: { minutes: (minute: number) => boolean; hours: (hour: number) => boolean },
  zone: string,
  from: string,
  days: number,
) {
  const found = new Set<number>();
  for (let minute = 0; minute < days * 1440; minute += 1) {
    const local = Temporal.PlainDate.from(from).toPlainDateTime().add({ minutes: minute });
    if (!pattern.minutes(local.minute) || !pattern.hours(local.hour)) continue;
    const zoned = local.toZonedDateTime(zone, { disambiguation: 'later' });
    const exists = zoned.toPlainDateTime().equals(local);
    const earlier = local.toZonedDateTime(zone, { disambiguation: 'earlier' });
    const change = zoned.add({ milliseconds: 1 }).getTimeZoneTransition('previous');
    found.add(exists ? earlier.epochMilliseconds : (change?.epochMilliseconds ?? 0));
  }
  return [...found].sort((a, b) => a - b);
}

describe('every pattern', () => {
  const always = () => true;
  const patterns = [
    ['0 2,14 * * *', { minutes: (minute: number) => minute === 0, hours: (hour: number) => hour === 2 || hour === 14 }],
    ['0 */6 * * *', { minutes: (minute: number) => minute === 0, hours: (hour: number) => hour % 6 === 0 }],
    ['30 2 * * *', { minutes: (minute: number) => minute === 30, hours: (hour: number) => hour === 2 }],
    ['30 0,1,2,3 * * *', { minutes: (minute: number) => minute === 30, hours: (hour: number) => hour < 4 }],
    [
      '15,45 1-3 * * *',
      { minutes: (minute: number) => minute % 30 === 15, hours: (hour: number) => hour >= 1 && hour <= 3 },
    ],
    ['*/30 * * * *', { minutes: (minute: number) => minute % 30 === 0, hours: always }],
    ['59 * * * *', { minutes: (minute: number) => minute === 59, hours: always }],
  ] as const;
  const changes = [
    ['Europe/Amsterdam', '2026-10-24'],
    ['Europe/Amsterdam', '2027-03-27'],
    // Midnight does not exist, and comes twice.
    ['America/Santiago', '2026-09-05'],
    ['America/Havana', '2025-11-01'],
    ['America/Havana', '2026-03-07'],
    ['Australia/Lord_Howe', '2026-10-03'],
    ['Australia/Lord_Howe', '2027-04-03'],
  ] as const;

  function run(pattern: string, zone: string, from: string, next = wallClock({ at: pattern, zone }).next) {
    const start = Temporal.PlainDate.from(from).toZonedDateTime(zone).epochMilliseconds - 1;
    const end = Temporal.PlainDate.from(from).add({ days: 3 }).toZonedDateTime(zone).epochMilliseconds;
    const found: number[] = [];
    for (let at = next(start); at < end; at = next(at)) found.push(at);
    return found.map(iso);
  }

  it.each(changes)('comes once for each of its times in %s from %s on', (zone, from) => {
    for (const [pattern, times] of patterns)
      expect(run(pattern, zone, from), pattern).toEqual(byCounting(times, zone, from, 3).map(iso));
  });

  it('does not where croner itself works with the zone (control)', () => {
    const others = changes.flatMap(([zone, from]) =>
      patterns.filter(([pattern, times]) => {
        const cron = new Cron(pattern, { timezone: zone, paused: true });
        const next = (at: number) => cron.nextRun(new Date(at))?.getTime() ?? Number.POSITIVE_INFINITY;
        return run(pattern, zone, from, next).join() !== byCounting(times, zone, from, 3).map(iso).join();
      }),
    );
    expect(others.length).toBeGreaterThan(0);
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

const true_now = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

it.each([
  ['the service agrees with the boot', 4100 * day, 0, 0, 'boot', 'wall-is-wrong'],
  ['half a minute of difference is agreement', -2 * hour, 0, 30_000, 'boot', 'wall-is-wrong'],
  ['the service agrees with the wall', 3 * day, 0, 3 * day, 'wall', 'time-was-lost'],
  ['the wall was set right', -4100 * day, 0, -4100 * day, 'wall', 'time-was-lost'],
  ['all three differ', 4100 * day, 0, -2 * hour, 'nobody', 'all-differ'],
] as const)('after a jump two of three decide: %s', (_, wall, boot, service, believe, reason) => {
  const at = (off: number) => true_now + off;
  expect(judgeJump({ wall: at(wall), boot: at(boot), service: at(service) })).toEqual({ believe, reason });
});

it.each([
  ['both agree', 0, 30_000, -minute, 'wall', 'agrees'],
  ['both agree, and the files were written in 2038', 0, 0, 4100 * day, 'wall', 'agrees'],
  ['our clock is in 1970', -56 * 365 * day, 0, -minute, 'service', 'after-the-last'],
  ['our clock is two hours back', -2 * hour, 0, -minute, 'service', 'after-the-last'],
  ["the service's clock is two hours back", 0, -2 * hour, -minute, 'wall', 'after-the-last'],
  ['our clock is in 2038', 4100 * day, 0, -minute, 'service', 'nearer'],
  ["the service's clock is in 2038", 0, 4100 * day, -minute, 'wall', 'nearer'],
  ['a few hours, and both may be', 2 * hour, 0, -minute, 'wall', 'own'],
  ['our clock is in 2038, and the files were written in 2050', 4100 * day, 0, 9000 * day, 'service', 'far-apart'],
  ['our clock is in 1970, and there are no files', -56 * 365 * day, 0, null, 'service', 'far-apart'],
  ['a few hours, and there are no files', 2 * hour, 0, null, 'wall', 'own'],
] as const)('at a start the last stored instant decides between two: %s', (_, wall, service, last, believe, reason) => {
  const judged = judgeStart({
    wall: true_now + wall,
    service: true_now + service,
    last: last === null ? null : true_now + last,
  });
  expect(judged).toEqual({ believe, reason });
});

it.each([
  ['a minute of downtime', -minute, false],
  ['three weeks of it', -21 * day, false],
  ['a few minutes ahead of us', 4 * minute, false],
  ['an hour ahead of us', hour, true],
  ['two months ago', -60 * day, true],
] as const)('at a start the service is asked first where the last stored instant is %s: %s', (_, last, asked) => {
  expect(isImplausible(true_now, true_now + last)).toBe(asked);
});

it('at a first start nobody is asked', () => {
  expect(isImplausible(0, null)).toBe(false);
});
