import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostMissing } from '../../src/domain/evidence/claims.ts';
import {
  type AbsenceFacts,
  type DirectAnswer,
  isApart,
  isGoneBy,
  isThere,
  listsApartMs,
  mustBeAsked,
  suspicionDueAt,
  walkAgainAfter,
  walksUntilDropped,
  withdrawal,
} from '../../src/domain/sale/absence.ts';

const minute = 60_000;
const hour = 60 * minute;
const now = Date.UTC(2026, 10, 21);

/** A product that went missing a day ago, and was asked since, where it was asked. */
const absent = (
  missing_walks: number,
  answer: DirectAnswer | null,
  more: Partial<AbsenceFacts> = {},
): AbsenceFacts => ({
  missing_walks,
  first_missing_at: now - 24 * hour,
  last_missing_at: now - 2 * hour,
  answer,
  answered_at: answer === null ? null : now - hour,
  ...more,
});
const before = { answered_at: now - 25 * hour };
const [by404, by410] = [
  'missing from two lists, and its own read answers 404',
  'missing from the list, and its own read answers 410',
];

describe('a product that the list lacks', () => {
  it.each<[string, AbsenceFacts, string | null]>([
    ['once, unasked', absent(1, null), null],
    ['twice, unasked', absent(2, null), null],
    ['ten times, and its own read has data', absent(10, 'there'), null],
    ['once, and its own read answers 404', absent(1, 'gone'), null],
    ['twice, and its own read answers 404', absent(2, 'gone'), by404],
    ['twice, and its own read answered 404 before that only', absent(2, 'gone', before), null],
    [
      'twice, and its own read answered 404 between the lists',
      absent(2, 'gone', { answered_at: now - 3 * hour }),
      null,
    ],
    ['never, and its own read answers 410', absent(0, 'permanently-gone'), null],
    ['once, and its own read answers 410', absent(1, 'permanently-gone'), by410],
    ['once, and its own read answered 410 before that', absent(1, 'permanently-gone', before), by410],
  ])('(%s) is withdrawn or not', (_, facts, expected) => {
    expect(withdrawal(facts)).toBe(expected);
  });

  it('is asked for by its own read after two lists, and again while it answers with data', () => {
    const facts = [absent(1, null), absent(2, null), absent(3, 'there'), absent(3, 'gone'), absent(2, 'gone', before)];
    expect(mustBeAsked(facts)).toEqual([facts[1], facts[2], facts[4]]);
  });

  it('is there where its own read has brought its data since it went missing', () => {
    expect(isThere(absent(1, 'there'))).toBe(true);
    expect(isThere(absent(1, 'gone'))).toBe(false);
    expect(isThere(absent(1, 'there', before))).toBe(false);
  });
});

it.each([
  [404, 1, false],
  [404, 2, true],
  [410, 0, false],
  [410, 1, true],
  [403, 9, false],
])(
  'a read that is refused with %i just now, of a product missing from %i lists: it is gone (%s)',
  (status, missing_walks, expected) => {
    expect(isGoneBy(status, absent(missing_walks, null))).toBe(expected);
    expect(isGoneBy(status, null)).toBe(false);
  },
);

describe('the list is walked again', () => {
  it.each<[string, AbsenceFacts[], 'held' | 'free', number | null]>([
    ['at its cadence where nothing is missing', [], 'free', null],
    ['after half an hour where something has just gone missing', [absent(1, null)], 'free', 30 * minute],
    ['at its cadence where three lists have said what they can', [absent(3, 'there')], 'free', null],
    ['every hour while removals are held', [absent(3, 'there')], 'held', hour],
  ])('%s', (_, facts, hold, expected) => {
    expect(walkAgainAfter(facts, hold)).toBe(expected);
  });

  it.each<[string, number | null, number]>([
    ['at once where it was never walked', null, now],
    ['at once where the last walk is an hour old', now - hour, now],
    ['when the last walk is an hour old', now - 20 * minute, now + 40 * minute],
  ])('because of a suspicion: %s', (_, walked_at, expected) => {
    expect(suspicionDueAt(walked_at, now)).toBe(expected);
  });
});

it('two walks in the same half hour are no two witnesses', () => {
  expect(isApart(now - listsApartMs, now)).toBe(true);
  expect(isApart(now - listsApartMs + 1, now)).toBe(false);
  expect(isApart(now + minute, now)).toBe(false);
});

it.each([
  [20, 5],
  [59, 5],
  [1000, 100],
])('of %i products %i may go missing at once before that is doubted', (visible, most) => {
  expect(mostMissing(visible)).toBe(most);
});

it('an experience is dropped by one complete walk, or by three where many go missing at once', () => {
  expect(walksUntilDropped(5, 20)).toBe(1);
  expect(walksUntilDropped(6, 20)).toBe(3);
  expect(walksUntilDropped(101, 1000)).toBe(3);
});

describe('whatever is known of a product,', () => {
  const facts: fc.Arbitrary<AbsenceFacts> = fc.record({
    missing_walks: fc.nat(6),
    first_missing_at: fc.integer({ min: now - 48 * hour, max: now }),
    last_missing_at: fc.integer({ min: now - 48 * hour, max: now }),
    answer: fc.constantFrom<(DirectAnswer | null)[]>(null, 'gone', 'permanently-gone', 'there'),
    answered_at: fc.option(fc.integer({ min: now - 48 * hour, max: now })),
  });

  it('it goes only by a list without it and a refusal of its own read', () => {
    fc.assert(
      fc.property(facts, (product) => {
        if (withdrawal(product) === null) return;
        expect(product.missing_walks).toBeGreaterThanOrEqual(product.answer === 'gone' ? 2 : 1);
        expect(['gone', 'permanently-gone']).toContain(product.answer);
      }),
      { numRuns: 2000 },
    );
  });

  it('nobody is asked who has said that it is gone', () => {
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 60 }), (products) => {
        expect(mustBeAsked(products).filter(({ answer }) => answer === 'permanently-gone')).toEqual([]);
      }),
    );
  });
});
