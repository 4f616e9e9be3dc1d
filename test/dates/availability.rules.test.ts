import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DayForm, isNoticed, summarise, tierStarts, windows } from '../../src/dates/availability.rules.ts';
import { timesLeft } from '../../src/dates/passed-times.rules.ts';
import { tiers } from './usual-tiers.ts';

const hour = 3_600_000;

describe('the summary of a date', () => {
  it.each<[string, DayForm, object]>([
    [
      'takes the least retail price above 0',
      [
        5,
        null,
        [
          [
            600,
            5,
            [
              [1, 4, 1850],
              [2, 4, 900],
              [3, 4, 0],
            ],
          ],
        ],
      ],
      { available: true, lowest_price: 900, max_tickets: 4, availability: 5 },
    ],
    [
      'is 0 where all prices are 0',
      [5, null, [[-1, 5, [[1, 4, 0]]]]],
      { available: true, lowest_price: 0, max_tickets: 4, availability: 5 },
    ],
    [
      'has no price where none is exact',
      [5, null, [[-1, 5, [[1, 4, null]]]]],
      { available: true, lowest_price: null, max_tickets: 4, availability: 5 },
    ],
    [
      'is sold out where no variant is left',
      [0, null, [[-1, 0, [[1, 0, 500]]]]],
      { available: false, lowest_price: null, max_tickets: 0, availability: 0 },
    ],
    [
      'ignores the price of a full slot',
      [
        3,
        null,
        [
          [600, 0, [[1, 4, 100]]],
          [660, 3, [[1, 4, 200]]],
        ],
      ],
      { available: true, lowest_price: 200, max_tickets: 4, availability: 3 },
    ],
    [
      'is sold out without slots',
      [null, null, []],
      { available: false, lowest_price: null, max_tickets: null, availability: null },
    ],
    [
      'counts a slot that does not say how much it has',
      [null, null, [[600, null, [[1]]]]],
      { available: true, lowest_price: null, max_tickets: null, availability: null },
    ],
  ])('%s', (_, form, summary) => {
    expect(summarise(form)).toEqual(summary);
  });
});

describe('what differs between two reads of a date', () => {
  const date = (left: number, tickets: number, price = 500, time = 600, extra?: Record<string, unknown>): DayForm => [
    left,
    null,
    [extra === undefined ? [time, left, [[1, tickets, price]]] : [time, left, [[1, tickets, price]], extra]],
  ];
  it.each([
    ['tickets left, more of them than one may order', date(180, 40), date(179, 39), false],
    ['tickets left, now fewer than one may order', date(21, 21), date(19, 19), true],
    ['few tickets left', date(8, 8), date(7, 7), true],
    ['the price', date(180, 40), date(180, 40, 600), true],
    ['the time', date(180, 40), date(180, 40, 500, 660), true],
    [
      'a member that differs at every read',
      date(180, 40, 500, 600, { seen: 1 }),
      date(180, 40, 500, 600, { seen: 2 }),
      false,
    ],
    ['everything: it is sold out', date(180, 40), undefined, true],
  ])('%s: noticed or not', (_, before, after, noticed) => {
    expect(isNoticed(before, after, 20)).toBe(noticed);
  });

  it('is noticed of today only by the times that have not begun', () => {
    const times = (...minutes: number[]): DayForm => [
      null,
      null,
      minutes.map((minute) => [minute, 9, [[1, 9, 500]]] as const),
    ];
    const noticed = (before: DayForm, after: DayForm | undefined, passed: number) =>
      isNoticed(timesLeft(before, passed), timesLeft(after, passed), 20);
    expect(noticed(times(600, 660, 900), times(900), 700)).toBe(false);
    expect(noticed(times(600, 660, 900), times(900), 630)).toBe(true);
    expect(noticed(times(600), undefined, 700)).toBe(false);
    expect(noticed(times(600), undefined, 500)).toBe(true);
  });

  it('is noticed in any count where the service names no limit', () => {
    expect(isNoticed(date(180, 40), date(179, 39), null)).toBe(true);
  });
});

describe('windows', () => {
  it('cover 92 days in three requests, the first of which serves the near and the middle tier', () => {
    expect(windows(tiers, 31)).toEqual([
      { part: 0, first_day: 0, last_day: 30, every: 6 * hour },
      { part: 1, first_day: 31, last_day: 61, every: 24 * hour },
      { part: 2, first_day: 62, last_day: 91, every: 24 * hour },
    ]);
    expect(tierStarts(tiers)).toEqual([0, 14, 31]);
  });

  it('cover every day of any horizon once, within the limit of a request', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 365 }), fc.integer({ min: 1, max: 31 }), (horizon, limit) => {
        const days = windows({ ...tiers, horizon }, limit).flatMap(({ first_day, last_day }) => {
          expect(last_day - first_day + 1).toBeLessThanOrEqual(limit);
          return Array.from({ length: last_day - first_day + 1 }, (_, index) => first_day + index);
        });
        expect(days).toEqual(Array.from({ length: horizon }, (_, day) => day));
      }),
    );
  });
});
