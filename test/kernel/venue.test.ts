import { describe, expect, it } from 'vitest';
import {
  addDays,
  datesBetween,
  daysBetween,
  isDate,
  knownZone,
  venueToday,
  zoneOffsets,
} from '../../src/kernel/time/venue.ts';

const at = (text: string) => Date.parse(text);

describe('today at the venue', () => {
  it.each([
    ['Pacific/Kiritimati', '2026-11-21T11:30:00Z', '2026-11-22'],
    ['Pacific/Pago_Pago', '2026-11-21T10:30:00Z', '2026-11-20'],
    ['Europe/Amsterdam', '2026-03-28T23:30:00Z', '2026-03-29'],
    ['Australia/Lord_Howe', '2026-10-03T13:45:00Z', '2026-10-04'],
    ['Asia/Kathmandu', '2026-02-28T18:20:00Z', '2026-03-01'],
    ['Europe/Rome', '2028-02-28T23:30:00Z', '2028-02-29'],
    ['UTC', '2038-01-19T03:14:08Z', '2038-01-19'],
  ])('in %s at %s is %s', (zone, instant, date) => {
    expect(venueToday(zone, at(instant))).toEqual({ earliest: date, latest: date });
  });

  it('with no zone known has a day of margin at both ends', () => {
    expect(venueToday(null, at('2026-11-21T12:00:00Z'))).toEqual({ earliest: '2026-11-20', latest: '2026-11-22' });
  });

  it('is another date from midnight on, whichever instant was asked about before', () => {
    for (const zone of ['Europe/Amsterdam', 'America/Havana', 'Africa/Cairo', 'America/Scoresbysund', 'UTC']) {
      const instants = Array.from({ length: 400 }, (_, hour) => at('2026-10-20T00:00:00Z') + hour * 1_800_000);
      const asked = [...instants, ...instants.toReversed()].map((now) => [now, venueToday(zone, now).latest]);
      const date = new Intl.DateTimeFormat('sv-SE', { timeZone: zone });
      expect(asked).toEqual(asked.map(([now]) => [now, date.format(Number(now))]));
    }
  });

  it('offsets lead from one transition to the next', () => {
    const offsets = zoneOffsets('Europe/Amsterdam', at('2026-11-21T00:00:00Z'), at('2027-11-21T00:00:00Z'));
    expect(offsets).toEqual([
      { valid_from: 0, offset_minutes: 60 },
      { valid_from: at('2027-03-28T01:00:00Z'), offset_minutes: 120 },
      { valid_from: at('2027-10-31T01:00:00Z'), offset_minutes: 60 },
    ]);
    expect(
      zoneOffsets('Australia/Lord_Howe', at('2026-11-21T00:00:00Z'), at('2027-04-30T00:00:00Z')).map(
        (o) => o.offset_minutes,
      ),
    ).toEqual([660, 630]);
    expect(zoneOffsets(null, 0, 1)).toEqual([{ valid_from: 0, offset_minutes: -720 }]);
  });

  it('a zone that the runtime does not know counts as unknown', () => {
    expect(['Europe/Rome', 'Mars/Base', '', '+02:00', 7, null].map(knownZone)).toEqual([
      'Europe/Rome',
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('dates', () => {
  it.each(['2026-02-29', '2026-13-01', '2026-1-1', '20260101', '', null, '2026-00-10'])('%s is no date', (text) => {
    expect(isDate(text)).toBe(false);
  });

  it('are counted over leap days, months and years', () => {
    expect(isDate('2028-02-29')).toBe(true);
    expect(addDays('2028-02-28', 2)).toBe('2028-03-01');
    expect(addDays('2026-01-01', -1)).toBe('2025-12-31');
    expect(daysBetween('2026-12-01', '2027-01-01')).toBe(31);
    expect(datesBetween('2026-12-30', '2027-01-02')).toEqual(['2026-12-30', '2026-12-31', '2027-01-01', '2027-01-02']);
    expect(datesBetween('2026-12-30', '2026-12-29')).toEqual([]);
  });
});
