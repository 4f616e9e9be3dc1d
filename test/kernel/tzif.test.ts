import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readTzif } from '../../src/kernel/time/tzif.ts';
import { newerRules, releaseIn, zonesText } from '../../src/kernel/time/zone-releases.ts';
import {
  eitherRules,
  firstDifference,
  instantsOf,
  offsetsBy,
  runtimeRules,
  type ZoneRules,
} from '../../src/kernel/time/zone-rules.ts';
import { needs } from '../fakes/needs.ts';
import { tzifOf } from '../fakes/zone-files.ts';

const at = (text: string) => Date.parse(text);
const from = at('2027-01-15');
const until = at('2033-01-15');

/** The rules of a file that has a text alone. */
function rulesOf(footer: string): ZoneRules | null {
  return readTzif(tzifOf({ first: 0, changes: [['2020-01-01T00:00Z', 0]], footer }));
}

describe('the text of a zone file sets the clocks as the runtime does', () => {
  it.each([
    ['America/Chicago', 'CST6CDT,M3.2.0,M11.1.0'],
    ['Europe/Amsterdam', 'CET-1CEST,M3.5.0,M10.5.0/3'],
    ['Australia/Lord_Howe', '<+1030>-10:30<+11>-11,M10.1.0,M4.1.0'],
    ['America/Nuuk', '<-02>2<-01>,M3.5.0/-1,M10.5.0/0'],
    ['Asia/Jerusalem', 'IST-2IDT,M3.4.4/26,M10.5.0'],
    ['America/Santiago', '<-04>4<-03>,M9.1.6/24,M4.1.6/24'],
    ['Africa/Cairo', 'EET-2EEST,M4.5.5/0,M10.5.4/24'],
    // Summer is its standard time.
    ['Europe/Dublin', 'IST-1GMT0,M10.5.0,M3.5.0/1'],
    ['Asia/Kathmandu', '<+0545>-5:45'],
    ['America/Phoenix', 'MST7'],
  ])('%s: %s', (zone, footer) => {
    const rules = rulesOf(footer);
    expect(rules).not.toBeNull();
    if (rules !== null) expect(offsetsBy(rules, from, until)).toEqual(offsetsBy(runtimeRules(zone), from, until));
  });

  it.each([
    ['with a day of the year that skips 29 February', 'AAA0BBB,J60/0,J305', '2028-03-01T00:00Z', '2028-11-01T01:00Z'],
    ['with a day of the year that counts it', 'AAA0BBB,59/0,304/0:30:30', '2028-02-29T00:00Z', '2028-10-30T23:30:30Z'],
    ['with a summer time of half an hour', 'AAA0BBB-0:30,M3.1.0,M3.2.0', '2028-03-05T02:00Z', '2028-03-12T01:30Z'],
  ])('%s: %s', (_, footer, begins, ends) => {
    const rules = rulesOf(footer);
    const now = at('2028-01-15');
    expect(rules?.next(now)).toBe(at(begins));
    expect(rules?.next(at(begins))).toBe(at(ends));
  });

  it('all year round', () => {
    const rules = rulesOf('EST5EDT,0/0,J365/25');
    if (rules === null) throw new Error('it cannot be read');
    expect(offsetsBy(rules, from, until)).toEqual([{ valid_from: 0, offset_minutes: -240 }]);
  });

  it.each(['', 'CST', 'CST6CDT', 'CST6CDT,M3.2.0', '6', 'CST6CDT,M3.2.0,M11.1.0,', 'cst6;rm'])(
    'and "%s" is no such text',
    (footer) => {
      expect(rulesOf(footer)).toBeNull();
    },
  );
});

describe('a zone file', () => {
  const zone = {
    first: -390,
    changes: [
      ['2026-03-08T08:00Z', -300],
      ['2026-11-01T07:00Z', -360],
      ['2027-02-01T00:00Z', -300],
    ],
    footer: 'EST5',
  } as const;

  it('has its listed changes before its text', () => {
    const rules = readTzif(tzifOf(zone));
    if (rules === null) throw new Error('it cannot be read');
    expect(rules.offsetAt(at('2020-01-01'))).toBe(-390);
    expect(offsetsBy(rules, at('2026-10-01'), until)).toEqual([
      { valid_from: 0, offset_minutes: -300 },
      { valid_from: at('2026-11-01T07:00Z'), offset_minutes: -360 },
      { valid_from: at('2027-02-01T00:00Z'), offset_minutes: -300 },
    ]);
  });

  it('that is cut anywhere, has leap seconds, is of version 1 or is something else is not read', () => {
    const whole = tzifOf(zone);
    for (let length = 0; length < whole.length; length += 1) expect(readTzif(whole.subarray(0, length))).toBeNull();
    expect(readTzif(tzifOf(zone, { leaps: 2 }))).toBeNull();
    expect(readTzif(tzifOf(zone, { version: '\0' }))).toBeNull();
    expect(readTzif(Buffer.from('Europe/Amsterdam is a link\n'.repeat(9)))).toBeNull();
  });

  it('of this machine is read as the runtime reads the years that are over', needs('tzdata'), () => {
    const real = '/usr/share/zoneinfo';
    const [past, now] = [at('2000-01-01'), at('2024-01-01')];
    const differing = Intl.supportedValuesOf('timeZone').filter((name) => {
      if (!existsSync(`${real}/${name}`)) return false;
      const rules = readTzif(readFileSync(`${real}/${name}`));
      const own = offsetsBy(runtimeRules(name), past, now);
      return rules === null || firstDifference(offsetsBy(rules, past, now), own, { now: past, until: now }) !== null;
    });
    // A release may correct the past of a zone or two.
    expect(differing.length).toBeLessThan(5);
  });
});

describe('the rules of a zone', () => {
  it('find the instants of a local time as Temporal does, on all days around changes and some others', () => {
    for (const zone of [
      'Europe/Amsterdam',
      'America/Havana',
      'Australia/Lord_Howe',
      'Africa/Casablanca',
      'Africa/Cairo',
      'Pacific/Apia',
    ]) {
      const rules = runtimeRules(zone);
      for (let day = at('2024-01-01'), index = 0; day < at('2030-01-01'); day += 86_400_000, index += 1) {
        if (index % 50 > 0 && rules.offsetAt(day - 86_400_000) === rules.offsetAt(day + 2 * 86_400_000)) continue;
        for (const minute of [0, 59, 90, 150, 1439]) {
          const local = Temporal.Instant.fromEpochMilliseconds(day)
            .toZonedDateTimeISO('UTC')
            .toPlainDateTime()
            .add({ minutes: minute });
          const [earlier, later] = (['earlier', 'later'] as const).map((disambiguation) =>
            local.toZonedDateTime(zone, { disambiguation }),
          );
          const found = instantsOf(rules, day + 60_000 * minute);
          if (later?.toPlainDateTime().equals(local))
            expect(found).toEqual({ first: earlier?.epochMilliseconds, last: later.epochMilliseconds });
          else
            expect(found.first).toBe(
              later?.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds,
            );
        }
      }
    }
  });

  it('of two readings are those whose clock is ahead', () => {
    const [one, other] = ['America/Phoenix', 'America/Denver'].map(runtimeRules) as [ZoneRules, ZoneRules];
    const offsets = offsetsBy(eitherRules(one, other), at('2027-01-01'), at('2028-01-01'));
    expect(offsets.map(({ offset_minutes }) => offset_minutes)).toEqual([-420, -360, -420]);
    expect(offsetsBy(eitherRules(other, one), at('2027-01-01'), at('2028-01-01'))).toEqual(offsets);
  });

  it('differ from the first instant on at which an offset does', () => {
    const range = { now: at('2027-01-01'), until: at('2028-01-01') };
    const of = (zone: string) => offsetsBy(runtimeRules(zone), range.now, range.until);
    expect(firstDifference(of('America/Phoenix'), of('America/Denver'), range)).toBe(at('2027-03-14T09:00Z'));
    expect(firstDifference(of('America/Phoenix'), of('America/Los_Angeles'), range)).toBe(range.now);
    expect(firstDifference(of('America/Denver'), of('America/Denver'), range)).toBeNull();
    // Written in winter, read in summer.
    const now = at('2027-06-01');
    const later = offsetsBy(runtimeRules('America/Denver'), now, range.until);
    expect(firstDifference(of('America/Denver'), later, { ...range, now })).toBeNull();
  });
});

describe('a release', () => {
  it.each([
    ['# version 2026f\n# This zic input file', '2026f'],
    ['2026f\n', '2026f'],
    ['2026za', '2026za'],
    ['# version 2026f-3-gdeadbeef\n', null],
    ['# version unknown\n', null],
    ['', null],
  ])('is named by %j: %s', (text, release) => {
    expect(releaseIn(text)).toBe(release);
  });

  it.each([
    ['2026c', '2026f', 'machine'],
    ['2026f', '2026c', 'runtime'],
    ['2027a', '2026z', 'runtime'],
    ['2026z', '2026za', 'machine'],
    // The files of one release differ: somebody has changed them, or they are older than what names them.
    ['2026f', '2026f', 'either'],
    ['2026f', null, 'either'],
    [null, '2026f', 'either'],
    ['78.3', '2026f', 'either'],
  ] as const)('%s of the runtime beside %s of the machine: %s', (runtime, machine, used) => {
    expect(newerRules(runtime, machine)).toBe(used);
  });

  it('is named with the zones, their products and what to update', () => {
    const zones = ['A', 'B', 'C', 'D', 'E', 'F', 'G'].map((zone) => ({ zone, products: 1, from: at('2026-11-01') }));
    expect(
      zonesText({ runtime: '2026c', machine: '2026f', used: 'machine' }, [
        { zone: 'America/Winnipeg', products: 3, from: at('2026-11-28') },
      ]),
    ).toBe(
      'the rules of America/Winnipeg (3 products, from 2026-11-28 on) differ between those of Node (2026c) and of this machine’s zone files (2026f): those of the files are newer and are used; update Node',
    );
    expect(zonesText({ runtime: '2026c', machine: null, used: 'either' }, zones)).toMatch(
      /E \(1 product, from 2026-11-01 on\), 2 more differ .*release unknown.*update both$/,
    );
  });
});
