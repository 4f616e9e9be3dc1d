import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SaleStatus } from '../../src/catalogue/product.rules.ts';
import { isAwaited } from '../../src/push/awaited.rules.ts';
import {
  type ClosureFacts,
  type ClosureVerdict,
  confirmAt,
  isMisuse,
  judge,
  mayApply,
} from '../../src/push/closure.rules.ts';
import { unshownOf } from '../../src/says/conditions/unshown.rules.ts';
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
} from '../../src/trust/absence.rules.ts';
import { mostMissing } from '../../src/trust/claims.rules.ts';

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

const at = Date.parse('2026-11-21T12:00:00Z');
const closure = (facts: Partial<ClosureFacts> = {}): ClosureFacts => ({
  notified_at: at,
  applied_at: at,
  available_at: null,
  confirmed_at: null,
  ...facts,
});

describe('a read about a closed product', () => {
  it.each<[string, Partial<ClosureFacts>, SaleStatus, number, ClosureVerdict]>([
    ['sent before the notification came', {}, 'disabled', at - 1, 'undecided'],
    ['sent in the same instant', {}, 'enabled', at, 'undecided'],
    ['of an unknown status', {}, 'unknown', at + 1, 'undecided'],
    ['that says disabled', {}, 'disabled', at + 1, 'confirmed'],
    ['that says disabled after one that said available', { available_at: at + 1 }, 'disabled', at + minute, 'confirmed'],
    ['that says available', {}, 'enabled', at + 1, 'available-once'],
    ['that says so again too soon', { available_at: at + 1 }, 'enabled', at + minute, 'undecided'],
    ['that says so again a minute later', { available_at: at + 1 }, 'enabled', at + 1 + minute, 'undecided'],
    ['that says so again when no cache has the old state', { available_at: at + 1 }, 'enabled', at + 12 * minute, 'undone'],
    ['that says so again too soon, when no cache has the old state', { available_at: at + 11 * minute + 1 }, 'enabled', at + 12 * minute, 'undecided'],
    ['that says so once when no cache has the old state', {}, 'enabled', at + 12 * minute, 'available-once'],
    ['that decides between two announced states', { available_at: at - minute }, 'enabled', at + 1, 'undone'],
    ['that says available after one that said disabled', { confirmed_at: at + 1 }, 'enabled', at + 2, 'reopened'],
    ['that was made before the one that said disabled', { confirmed_at: at + 5 }, 'enabled', at + 2, 'undecided'],
  ])('%s', (_, facts, is, sent_at, verdict) => {
    expect(judge(closure(facts), is, sent_at)).toBe(verdict);
  }); // biome-ignore format: a table

  it('is due 2 and 12 minutes after the notification, and not at all when it was confirmed', () => {
    const next = (sent_at: number, now: number) => confirmAt(closure(), { sent_at, now });
    expect(next(at + 1, at + 5)).toBe(at + 2 * minute);
    expect(next(at + 1, at + 2 * minute)).toBe(at + 12 * minute);
    expect(next(at + 12 * minute, at + 12 * minute)).toBe(at + 13 * minute);
    // A cache has kept its answer since before the notification.
    expect(next(at - minute, at + 12 * minute)).toBe(at + 17 * minute);
    expect(confirmAt(closure({ confirmed_at: at + 5 }), { sent_at: at, now: at })).toBeNull();
  });
});

it('so many closures take effect without a read, and no more', () => {
  expect([4, 5].map((unconfirmed) => mayApply(unconfirmed, 20))).toEqual([true, false]);
  expect([749, 750].map((unconfirmed) => mayApply(unconfirmed, 7500))).toEqual([true, false]);
});

it('hints are misuse when most of the last hundred were not confirmed', () => {
  const last = (undone: number, of: number) =>
    Array.from({ length: of }, (_, index) => ({ confirmed_at: index < undone ? null : at }));
  expect([isMisuse(last(99, 99)), isMisuse(last(50, 100)), isMisuse(last(51, 100))]).toEqual([false, false, true]);
});

const documents = [
  { description: 'Old', tag_ids: ['1', '2'], whats_included: '* Entry\n* A map', tagline: null },
  { must_know: 'x' },
];

describe('an announced update', () => {
  it.each<[string, string, unknown, unknown, boolean]>([
    ['of a text that we show is awaited', 'description', 'Old', 'New', true],
    ['of a text with other ends of lines is, too', 'whats_included', '* Entry\r\n* A map', '* Entry', true],
    ['of a list is, too', 'tag_ids', ['1', '2'], ['1'], true],
    ['that a read has shown already is not', 'description', 'Older', 'Old', false],
    ['of another language is not', 'description', 'Alt', 'Neu', false],
    ['of a field that we do not mirror is not', 'queue_length', 1, 2, false],
    ['that changes nothing is not', 'description', 'Old', 'Old', false],
    ['that does not tell what it was is not', 'description', undefined, 'New', false],
    ['of what was empty is not: anything may have been', 'tagline', null, 'New', false],
  ])('%s', (_, field, old_value, new_value, expected) => {
    expect(isAwaited(documents, [{ field, old_value, new_value }])).toBe(expected);
  });
});

describe('updates that no read shows', () => {
  const none = { products: 0, since: null };
  it.each([
    ['one that is awaited is enough', { ...none, shown: 0 }, { products: 1, since: 5 }, { products: 1, since: 5 }],
    ['two that name nothing we know are not', { products: 2, shown: 0, since: 5 }, none, null],
    ['three of them are', { products: 3, shown: 0, since: 5 }, none, { products: 3, since: 5 }],
    ['unless a read has shown one', { products: 3, shown: 1, since: 5 }, none, null],
    ['both count once', { products: 3, shown: 0, since: 7 }, { products: 1, since: 5 }, { products: 3, since: 5 }],
  ])('%s', (_, told, awaited, expected) => {
    expect(unshownOf({ told, awaited })).toEqual(expected);
  });
});
