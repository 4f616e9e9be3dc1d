import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AbsenceFacts,
  contradicts,
  type DirectAnswer,
  isApart,
  isMissing,
  judgeList,
  listsApartMs,
  mostMissing,
  mustBeAsked,
  suspicionDueAt,
  walkAgainAfter,
  walksUntilDropped,
  withdrawal,
} from '../../src/domain/sale/absence.ts';

const minute = 60_000;
const hour = 60 * minute;
const now = Date.UTC(2026, 10, 21);
const year2038 = Date.UTC(2038, 0, 1);

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
  release: null,
  rejected: 0,
  ...more,
});
const before = { answered_at: now - 25 * hour };
const limits = { hold_share: 0.1, hold_count: 5 };
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
    ['twice since a person did not believe it, with a 404', absent(2, 'gone', { rejected: 1 }), null],
    ['three times since a person did not believe it, with a 404', absent(3, 'gone', { rejected: 1 }), by404],
  ])('(%s) is withdrawn or not', (_, facts, expected) => {
    expect(withdrawal(facts, 'free')).toBe(expected);
    expect(withdrawal(facts, 'held')).toBe(null);
  });

  it('stays while removals are held, unless three lists or a person let it go', () => {
    expect(withdrawal(absent(3, 'gone', { release: 'agreed' }), 'held')).toBe(by404);
    expect(withdrawal(absent(3, null, { release: 'agreed' }), 'held')).toBe(null);
    expect(withdrawal(absent(3, 'there', { release: 'agreed' }), 'free')).toBe(null);
    expect(withdrawal(absent(1, null, { release: 'approved' }), 'held')).toBe('approved by an operator');
  });

  it('is asked for by its own read after two lists, and again while it answers with data', () => {
    const facts = [absent(1, null), absent(2, null), absent(3, 'there'), absent(3, 'gone'), absent(2, 'gone', before)];
    expect(mustBeAsked(facts, null)).toEqual([facts[1], facts[2], facts[4]]);
  });

  it('is asked for by at most twenty reads while removals are held, first those that contradict the hold', () => {
    const hold = { opened_at: now - 24 * hour };
    const old = absent(9, 'there', { first_missing_at: now - 90 * 24 * hour });
    const [silent, there] = [absent(1, null), absent(3, 'there')];
    expect(mustBeAsked([old, silent, there, absent(3, 'gone')], hold)).toEqual([there, silent, old]);
    // However many the list never shows, they take no probe from what has just gone missing.
    const many = [...Array.from({ length: 50 }, () => old), ...Array.from({ length: 50 }, () => silent)];
    expect(mustBeAsked(many, hold)).toEqual(Array.from({ length: 20 }, () => silent));
  });

  it('contradicts a hold with its data, unless it was missing before the hold', () => {
    const hold = { opened_at: now - 24 * hour };
    expect(contradicts(absent(1, 'there'), hold)).toBe(true);
    expect(contradicts(absent(1, 'gone'), hold)).toBe(false);
    expect(contradicts(absent(9, 'there', { first_missing_at: hold.opened_at - 1 }), hold)).toBe(false);
    expect(contradicts(absent(3, 'there', { first_missing_at: hold.opened_at - 1, rejected: 1 }), hold)).toBe(true);
  });

  it('counts as missing at once, or where a person did not believe it, when three further lists lack it', () => {
    expect([0, 1].map((walks) => isMissing(absent(walks, null)))).toEqual([false, true]);
    expect([1, 2, 3].map((walks) => isMissing(absent(walks, null, { rejected: 1 })))).toEqual([false, false, true]);
    expect(isMissing(absent(5, null, { release: 'agreed' }))).toBe(false);
  });
});

describe('the list is walked again', () => {
  it.each<[string, AbsenceFacts[], 'held' | 'free', number | null]>([
    ['at its cadence where nothing is missing', [], 'free', null],
    ['after half an hour where something has just gone missing', [absent(1, null)], 'free', 30 * minute],
    ['at its cadence where three lists have said what they can', [absent(3, 'there')], 'free', null],
    ['at its cadence where a person wants to keep it', [absent(1, null, { rejected: 1 })], 'free', null],
    ['at its cadence where a hold has let it go', [absent(1, null, { release: 'approved' })], 'free', null],
    ['after half an hour while a hold counts its lists', [absent(2, null)], 'held', 30 * minute],
    ['every six hours while a hold outlives its third list', [absent(3, 'there')], 'held', 6 * hour],
  ])('%s', (_, facts, hold, expected) => {
    expect(walkAgainAfter(facts, hold)).toBe(expected);
  });

  it.each<[string, number | null, number]>([
    ['at once where it was never walked', null, now],
    ['at once where the last walk is an hour old', now - hour, now],
    ['when the last walk is an hour old', now - 20 * minute, now + 40 * minute],
    ['at once where the last walk lies in the future', year2038, now],
  ])('because of a suspicion: %s', (_, walked_at, expected) => {
    expect(suspicionDueAt(walked_at, now)).toBe(expected);
  });
});

it('two walks in the same half hour are no two witnesses, and one in the future is none', () => {
  expect(isApart(now - listsApartMs, now)).toBe(true);
  expect(isApart(now - listsApartMs + 1, now)).toBe(false);
  expect(isApart(now + minute, now)).toBe(false);
  expect(isApart(year2038, now)).toBe(true);
});

describe('a complete list', () => {
  it.each([
    ['that is empty is held', { rows: 0, visible: 100, missing: 100, lists: 1, there: 0 }, 'hold'],
    ['that is empty is held however few there are', { rows: 0, visible: 3, missing: 3, lists: 0, there: 0 }, 'hold'],
    ['that lacks nothing is plausible', { rows: 100, visible: 100, missing: 0, lists: 0, there: 0 }, 'plausible'],
    ['that lacks five of twenty is plausible', { rows: 15, visible: 20, missing: 5, lists: 1, there: 0 }, 'plausible'],
    ['that lacks six of twenty is held', { rows: 14, visible: 20, missing: 6, lists: 1, there: 0 }, 'hold'],
    [
      'that lacks a tenth of a thousand is plausible',
      { rows: 900, visible: 1000, missing: 100, lists: 1, there: 0 },
      'plausible',
    ],
    ['that lacks a little more is held', { rows: 899, visible: 1000, missing: 101, lists: 2, there: 0 }, 'hold'],
    [
      'that is the third to agree ends the hold',
      { rows: 400, visible: 1000, missing: 600, lists: 3, there: 0 },
      'agreed',
    ],
    ['that a single read contradicts does not', { rows: 400, visible: 1000, missing: 600, lists: 9, there: 1 }, 'hold'],
  ] as const)('%s', (_, facts, expected) => {
    expect(judgeList(facts, limits)).toBe(expected);
  });

  it('is never believed at once when more are missing than may be', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), (visible, missing) => {
        fc.pre(missing <= visible && missing > mostMissing(visible, limits));
        for (const lists of [1, 2])
          expect(judgeList({ rows: visible - missing, visible, missing, lists, there: 0 }, limits)).toBe('hold');
      }),
    );
  });
});

it('an experience is dropped by one complete walk, or by three where many go missing at once', () => {
  expect(walksUntilDropped(5, 20, limits)).toBe(1);
  expect(walksUntilDropped(6, 20, limits)).toBe(3);
  expect(walksUntilDropped(101, 1000, limits)).toBe(3);
});

describe('whatever is known of a product,', () => {
  const facts: fc.Arbitrary<AbsenceFacts> = fc.record({
    missing_walks: fc.nat(6),
    first_missing_at: fc.integer({ min: now - 48 * hour, max: now }),
    last_missing_at: fc.integer({ min: now - 48 * hour, max: now }),
    answer: fc.constantFrom<(DirectAnswer | null)[]>(null, 'gone', 'permanently-gone', 'there'),
    answered_at: fc.option(fc.integer({ min: now - 48 * hour, max: now })),
    release: fc.constantFrom<AbsenceFacts['release'][]>(null, 'agreed', 'approved'),
    rejected: fc.constantFrom<(0 | 1)[]>(0, 1),
  });
  const hold = fc.option(fc.record({ opened_at: fc.integer({ min: now - 48 * hour, max: now }) }));

  it('it goes only by a person, or by a list without it and a refusal of its own read', () => {
    fc.assert(
      fc.property(facts, fc.constantFrom('held' as const, 'free' as const), (product, state) => {
        if (withdrawal(product, state) === null || product.release === 'approved') return;
        expect(product.missing_walks).toBeGreaterThanOrEqual(product.answer === 'gone' ? 2 : 1);
        expect(['gone', 'permanently-gone']).toContain(product.answer);
        expect(state === 'free' || product.release === 'agreed').toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('who is asked does not depend on the order of the list', () => {
    fc.assert(
      fc.property(fc.uniqueArray(facts, { maxLength: 15 }), hold, (products, open) => {
        const set = (list: readonly AbsenceFacts[]) => list.map((each) => JSON.stringify(each)).sort();
        expect(set(mustBeAsked(products.toReversed(), open))).toEqual(set(mustBeAsked(products, open)));
      }),
    );
  });

  it('nobody is asked who has said that it is gone, and while removals are held at most twenty are', () => {
    fc.assert(
      fc.property(fc.array(facts, { maxLength: 60 }), hold, (products, open) => {
        const asked = mustBeAsked(products, open);
        expect(asked.filter(({ answer }) => answer === 'permanently-gone')).toEqual([]);
        if (open !== null) expect(asked.length).toBeLessThanOrEqual(20);
      }),
    );
  });
});
