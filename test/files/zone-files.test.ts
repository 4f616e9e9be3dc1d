import { describe, expect, it } from 'vitest';
import { repriceDates } from '../../src/cycle/chores.ts';
import type { Timeslot } from '../../src/dates/availability.rules.ts';
import { type MachineZones, ZoneFiles } from '../../src/files/zone-files.ts';
import { type Instant, instant, systemClock } from '../../src/kernel/clock.ts';
import { venueToday } from '../../src/kernel/time/venue.ts';
import { minutesPassed } from '../../src/kernel/time/venue-clock.ts';
import { conditionTable } from '../../src/says/conditions/table.rules.ts';
import { isHealthy } from '../../src/says/doctor/check.ts';
import { zoneCheck } from '../../src/says/doctor/doctor.ts';
import { readStatus } from '../../src/says/status/status.store.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testLog } from '../fakes/test-log.ts';
import { type TestMirror, temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import { testSync } from '../fakes/test-sync.ts';
import { type PlantedZone, plantZones } from '../fakes/zone-files.ts';
import { healthy } from '../says/conditions/healthy-facts.ts';

const hour = 3_600_000;
const now = instant(Date.parse('2026-12-01T12:00:00Z'));
const date = '2026-12-02';
/** Whole hours have begun in both readings, and an hour divides them. */
const looked = Date.parse(`${date}T17:30:00Z`);

/** The rules of two releases: each zone stays on summer time in one of them, and goes back on 1 November 2026 in the other. */
const rules = {
  'America/Winnipeg': {
    'stays on summer time': {
      first: -360,
      changes: [['2026-03-08T08:00Z', -300]],
      footer: 'EST5',
    },
    'goes back': {
      first: -360,
      changes: [['2026-03-08T08:00Z', -300], ['2026-11-01T07:00Z', -360]],
      footer: 'CST6CDT,M3.2.0,M11.1.0',
    },
  },
  'America/Havana': {
    'stays on summer time': {
      first: -300,
      changes: [['2026-03-08T05:00Z', -240], ['2027-11-07T05:00Z', -300]],
      footer: 'CST5CDT,M3.2.0/0,M11.1.0/1',
    },
    'goes back': {
      first: -300,
      changes: [['2026-03-08T05:00Z', -240], ['2026-11-01T05:00Z', -300]],
      footer: 'CST5CDT,M3.2.0/0,M11.1.0/1',
    },
  },
} as const satisfies Record<string, Record<string, PlantedZone>>; // biome-ignore format: two tables

type Zone = keyof typeof rules;

/** The hours of a date, as they were stored by the runtime's rules. */
function stored(zone: Zone): TestMirror {
  const test = testMirror();
  putProducts(test, [productOf(1, { timezone: zone }), productOf(2)], { sent_at: now });
  const slots = Array.from({ length: 24 }, (_, each): Timeslot => [60 * each, 5, [[1, 5, 900]]]);
  for (const product_id of [1, 2])
    test.mirror.transaction(() =>
      test.mirror.catalogue.availability.store(
        { product_id, currency: 'EUR', from: '2026-12-01', sent_at: now, now, hash: 'h', today: '2026-12-01', tiers, reason: 'cadence-elapsed', readBefore: false },
        { sales_enabled: true, covered_to: date, named: null, max_tickets_per_order: null, variants: [], groups: [], rest: {}, days: new Map([[date, [null, null, slots]]]) },
      ),
    ); // biome-ignore format: one answer
  return test;
}

const near = { days: 14, every: 6 * hour };
const tiers = { horizon: 92, near, middle: { days: 31, every: 12 * hour }, far: { every: 24 * hour } };

/** Opens the mirror as a daemon on a machine with these zones does, and does what is due. */
async function lookOn(zones: MachineZones, { mirror }: TestMirror, at: Instant = now): Promise<ZoneFiles> {
  const clock = { ...systemClock, now: () => at };
  const files = new ZoneFiles(zones, { mirror, clock, log: testLog('silent').log });
  files.look();
  await repriceDates(testSync({ mirror, clock }), new AbortController().signal);
  return files;
}

/** The first hour that is still sold, and today, by the views and by the rule that a live check goes by. */
function shownIn({ mirror }: TestMirror, zone: Zone, product_id = 1) {
  const db = openMirrorAt(mirror.path, looked);
  const first = db
    .prepare<[number], string>('SELECT min(time) FROM availability_slots WHERE product_id = ?')
    .pluck()
    .get(product_id);
  db.close();
  const evening = openMirrorAt(mirror.path, Date.parse(`${date}T04:30:00Z`));
  const today = evening
    .prepare<[number], string>('SELECT venue_today FROM products WHERE product_id = ?')
    .pluck()
    .get(product_id);
  evening.close();
  expect(today).toBe(venueToday(product_id === 1 ? zone : 'UTC', Date.parse(`${date}T04:30:00Z`)).latest);
  return { first, today, checked: minutesPassed(product_id === 1 ? zone : 'UTC', date, looked) };
}

function shownFor(offset_hours: number) {
  const minute = 17 * 60 + 30 + 60 * offset_hours;
  return {
    first: `${String(Math.floor(minute / 60) + 1).padStart(2, '0')}:00`,
    today: 4.5 + offset_hours >= 0 ? '2026-12-02' : '2026-12-01',
    checked: minute,
  };
}

const offsetOf = (zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(looked).toZonedDateTimeISO(zone).offsetNanoseconds / 3.6e12;
const cases = (Object.keys(rules) as Zone[]).flatMap((zone) =>
  (['stays on summer time', 'goes back'] as const).map((rule) => {
    const { changes } = rules[zone][rule];
    const offset = (changes.findLast(([from]) => Date.parse(from) <= looked)?.[1] ?? 0) / 60;
    return { zone, rule, offset };
  }),
);

/** Release of the runtime in these tests, whatever its rules are. */
const runtime = '2026c';

describe.each(cases)('on a machine where $zone $rule', ({ zone, rule, offset }) => {
  const planted = (directory: string, release: string | null) => {
    plantZones(directory, release, { [zone]: rules[zone][rule] });
    return { directory, runtime };
  };

  it.each([
    ['of a newer release the times pass by its files', '2026f', offset],
    ['of an older release they pass by the runtime', '2026b', offsetOf(zone)],
    ['of the same release they pass when they have by either', '2026c', Math.max(offset, offsetOf(zone))],
    ['of a release that nothing names, too', null, Math.max(offset, offsetOf(zone))],
  ])('%s', async (_, release, expected) => {
    using test = stored(zone);
    using place = temporaryDirectory();
    expect(shownIn(test, zone)).toEqual(shownFor(offsetOf(zone)));
    using files = await lookOn(planted(place.path, release), test);
    expect(shownIn(test, zone)).toEqual(shownFor(expected));
    expect(shownIn(test, zone, 2)).toEqual(shownFor(0));
    const differs = offset !== offsetOf(zone);
    expect(files.differing.map((each) => [each.zone, each.products])).toEqual(differs ? [[zone, 1]] : []);
    expect(isHealthy([zoneCheck(files.releases, files.differing)])).toBe(!differs);
    const found = conditionTable['zone-rules-differ'].found({ ...healthy, ...readStatus(test.reader, now) });
    if (differs) expect(found?.says).toContain(`${zone} (1 product, from 2026-12-01 on)`);
    else expect(found).toBeNull();
  });
});

it('one of the two rules is another than that of the runtime, in each zone (control)', () => {
  for (const zone of Object.keys(rules))
    expect(cases.filter((each) => each.zone === zone && each.offset !== offsetOf(zone))).toHaveLength(1);
});

describe('the zone that differs', () => {
  const [differing] = cases.filter(({ zone, offset }) => offset !== offsetOf(zone));
  if (differing === undefined) throw new Error('none does');
  const { zone, rule, offset } = differing;

  it('is stored with its dates by the runtime alone where the files are not read (control)', async () => {
    using test = stored(zone);
    using files = await lookOn({ directory: null, runtime }, test);
    expect(shownIn(test, zone)).toEqual(shownFor(offsetOf(zone)));
    expect(shownIn(test, zone)).not.toEqual(shownFor(offset));
    expect(zoneCheck(files.releases, files.differing)).toMatchObject({
      verdict: 'skipped',
      found: 'no zone files in null: the rules of Node (2026c) are used',
      advice: expect.stringContaining('apt-get install tzdata'),
    });
  });

  it('is that of the runtime where its file is missing, damaged or a directory', async () => {
    using test = stored(zone);
    using place = temporaryDirectory();
    for (const bytes of [null, Buffer.from('TZif2'), Buffer.alloc(900)]) {
      plantZones(place.path, '2026f', bytes === null ? {} : { [zone]: bytes });
      using files = await lookOn({ directory: place.path, runtime }, test);
      expect(shownIn(test, zone)).toEqual(shownFor(offsetOf(zone)));
      expect(files.differing).toEqual([]);
    }
    plantZones(place.path, '2026f', { [`${zone}/Centre`]: rules[zone][rule] });
    using files = await lookOn({ directory: place.path, runtime }, test);
    expect(files.differing).toEqual([]);
  });

  it('is known at once where its first product comes later, and forgotten when both agree again', async () => {
    using test = testMirror();
    using place = temporaryDirectory();
    plantZones(place.path, '2026f', { [zone]: rules[zone][rule] });
    using files = await lookOn({ directory: place.path, runtime }, test);
    expect(files.differing).toEqual([]);
    putProducts(test, [productOf(1, { timezone: zone })], { sent_at: now });
    expect(test.all('SELECT utc_offset FROM product')).toEqual([{ utc_offset: 60 * offset }]);
    files.look();
    const since = () =>
      readStatus(test.reader, now).outcomes.find(({ operation }) => operation === 'zone-rules')?.failed_at;
    expect(since()).toBe(now);
    plantZones(place.path, '2026b', {});
    files.look();
    expect(since()).toBeNull();
    expect(test.all('SELECT utc_offset FROM product')).toEqual([{ utc_offset: 60 * offsetOf(zone) }]);
  });

  it('leads to one change of its dates, and to none when nothing is new', async () => {
    using test = stored(zone);
    using place = temporaryDirectory();
    plantZones(place.path, '2026f', { [zone]: rules[zone][rule] });
    const last = () =>
      test
        .all<{ seq: number; kind: string; product_id: number }>(
          'SELECT seq, kind, product_id FROM _change ORDER BY seq',
        )
        .slice(before);
    const before = test.all('SELECT seq FROM _change').length;
    using files = await lookOn({ directory: place.path, runtime }, test);
    const marks = () => test.all('SELECT * FROM _zone_offset');
    const offsets = marks();
    const told = last();
    files.look();
    await repriceDates(testSync({ mirror: test.mirror }), new AbortController().signal);
    expect(last()).toEqual(told);
    expect(told.every((each) => each.kind === 'slots_changed' && each.product_id === 1)).toBe(true);
    expect(marks()).toEqual(offsets);
  });
});
