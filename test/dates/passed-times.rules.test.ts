import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayForm, summarise, type Timeslot } from '../../src/dates/availability.rules.ts';
import { hasPassed, stretchesOf, withoutPassed } from '../../src/dates/passed-times.rules.ts';
import { nothingPrinted, printedOn } from '../../src/dates/printed-price.rules.ts';
import { minutesPassed, venueClock, venueInstants } from '../../src/kernel/time/venue-clock.ts';
import { thorough } from '../fakes/thorough.ts';

const date = '2026-11-21';
const slot = (time: number | string, price: number, places = 5): Timeslot => [time, places, [[1, places, price]]];
const formOf = (...slots: Timeslot[]): DayForm => [slots.reduce((sum, [, each]) => sum + (each ?? 0), 0), 'UTC', slots];

describe('a time of a date', () => {
  it.each([
    [540, 539, false],
    [540, 540, true],
    [540, 541, true],
    [0, -1, false],
    [0, 0, true],
    [-1, 1440, false],
    ['evening', 1440, false],
  ])('%s has passed at minute %s: %s', (time, minute, passed) => {
    expect(hasPassed(time, minute)).toBe(passed);
  });

  it('that has passed takes its price and its places with it; what lasts all day stays', () => {
    const form = formOf(slot(540, 900), slot(900, 1500, 3), slot(-1, 2000, 2));
    expect(withoutPassed(form, -1)).toBe(form);
    expect(summarise(withoutPassed(form, 600))).toEqual({
      available: true,
      lowest_price: 1500,
      max_tickets: 3,
      availability: 5,
    });
    expect(summarise(withoutPassed(form, 1440))).toMatchObject({ lowest_price: 2000, availability: 2 });
    expect(withoutPassed(formOf(slot(540, 900)), 600)).toEqual([null, 'UTC', []]);
  });
});

const types = new Map([
  [1, 'adult'],
  [2, 'child'],
]);

const slots = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom(-1, 0, 540, 541, 1439, 'evening'), fc.integer({ min: 0, max: 1439 })),
    fc.constantFrom(null, 0, 1, 7),
    fc.array(
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom(null, 0, 2, 9), fc.constantFrom(null, 0, 500, 900)),
    ),
  ),
  { maxLength: 6 },
);

/** The places of its times, as the view counts them once the first has begun. */
function placesOf([, , left]: DayForm): number | null {
  const places = left.flatMap(([, each]) => (each === null ? [] : [each]));
  return places.length === 0 ? null : places.reduce((sum, each) => sum + each, 0);
}

describe('the stretches of a date', () => {
  it('say at every minute what is left then, and after the last time that nothing is on sale', () => {
    fc.assert(
      fc.property(slots, fc.constantFrom(0, 5, null), (given, availability) => {
        const form: DayForm = [availability, null, given];
        const stretches = stretchesOf(form, types);
        for (let minute = -1; minute < 1440; minute += 1) {
          const found = stretches.filter(({ from, until }) => from <= minute && minute < until);
          const left = withoutPassed(form, minute);
          const { available, ...summary } = summarise(left);
          const isOver = left[2].length === 0 && given.length > 0;
          const state = isOver ? 'not_on_sale' : available ? 'available' : 'sold_out';
          const { availability: count, ...others } = summary;
          expect(found).toMatchObject([{ state, ...others, ...(available ? printedOn(left, types) : nothingPrinted) }]);
          for (const { counted_until, until, availability: counted } of found) {
            expect(counted_until).toBeLessThanOrEqual(until);
            expect(minute < counted_until ? counted : placesOf(left)).toBe(count);
          }
        }
      }),
      { numRuns: 25 },
    );
  });
});

describe("the venue's clock", () => {
  it.each([
    ['UTC', '2026-11-21T09:00:00Z', '2026-11-21', 540],
    ['Asia/Kolkata', '2026-11-21T03:29:59Z', '2026-11-21', 539],
    ['Asia/Kathmandu', '2026-11-20T18:15:00Z', '2026-11-21', 0],
    ['America/St_Johns', '2026-11-21T02:30:00Z', '2026-11-20', 1380],
    ['Pacific/Kiritimati', '2026-11-21T11:30:00Z', '2026-11-22', 90],
    // Put forward: 02:00 to 03:00 never comes, and has passed.
    ['Europe/Amsterdam', '2026-03-29T00:59:00Z', '2026-03-29', 119],
    ['Europe/Amsterdam', '2026-03-29T01:00:00Z', '2026-03-29', 180],
    // Put back: what lies between 02:00 and 03:00 passes the second time.
    ['Europe/Amsterdam', '2026-10-24T23:59:00Z', '2026-10-25', 119],
    ['Europe/Amsterdam', '2026-10-25T00:30:00Z', '2026-10-25', 119],
    ['Europe/Amsterdam', '2026-10-25T01:00:00Z', '2026-10-25', 120],
    ['Europe/Amsterdam', '2026-10-25T01:30:00Z', '2026-10-25', 150],
    // By half an hour.
    ['Australia/Lord_Howe', '2026-04-04T14:45:00Z', '2026-04-05', 89],
    ['Australia/Lord_Howe', '2026-04-04T15:15:00Z', '2026-04-05', 105],
    // Nowhere later than there.
    [null, '2026-11-21T12:30:00Z', '2026-11-21', 30],
  ])('in %s at %s has reached %s, minute %s', (zone, instant, on, minute) => {
    expect(venueClock(zone, Date.parse(instant))).toEqual({ date: on, minute });
  });

  it('never goes back, over a year of clock changes', () => {
    const step = thorough ? 900_000 : 5_300_000;
    for (const zone of ['Europe/Amsterdam', 'Australia/Lord_Howe', 'America/New_York', 'Asia/Beirut', null]) {
      let before = '';
      for (let now = Date.parse('2026-01-01T00:00:00Z'); now < Date.parse('2027-01-01T00:00:00Z'); now += step) {
        const { date: on, minute } = venueClock(zone, now);
        const clock = `${on} ${String(minute).padStart(4, '0')}`;
        if (clock < before) expect(clock, `${zone} at ${new Date(now).toISOString()}`).toBe(before);
        before = clock;
      }
    }
  });

  it('and the instants of a date agree: a minute has passed from its instant on, and not before', () => {
    for (const zone of ['Europe/Amsterdam', 'Australia/Lord_Howe', 'Asia/Kolkata', 'Asia/Beirut', null])
      for (const on of ['2026-03-28', '2026-03-29', '2026-04-05', '2026-10-24', '2026-10-25', '2026-11-21'])
        for (let minute = 0; minute <= 1440; minute += 30) {
          const at = venueInstants(zone, on)(minute);
          const named = `${zone} ${on} ${minute}`;
          expect(minutesPassed(zone, on, at), named).toBeGreaterThanOrEqual(minute === 1440 ? 1440 : minute);
          expect(minutesPassed(zone, on, at - 1), named).toBeLessThan(minute);
        }
  });

  it('tells how much of a date has gone by: nothing of a later one, all of an earlier one', () => {
    const now = Date.parse('2026-11-21T09:30:00Z');
    expect(['2026-11-20', date, '2026-11-22'].map((each) => minutesPassed('UTC', each, now))).toEqual([1440, 570, -1]);
  });
});
