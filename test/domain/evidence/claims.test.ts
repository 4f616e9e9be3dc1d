import { describe, expect, it } from 'vitest';
import {
  askAgainAt,
  type JudgedClaim,
  judgeClaim,
  limitOf,
  lookAgainAt,
  returns,
  type Said,
  stillSays,
  takesAway,
} from '../../../src/domain/evidence/claims.ts';

const minute = 60_000;
const noon = Date.UTC(2026, 10, 21, 12);

const dates = (shown: number, said: number): Said => ({ subject: 'near-dates', shown, said });
const prices = (shown: number | null, said: number | null): Said => ({ subject: 'near-prices', shown, said });

describe('an answer takes something away', () => {
  it.each([
    ['all dates of a window', dates(12, 0), true],
    ['some dates of a window', dates(12, 1), false],
    ['dates of a window that showed none', dates(0, 0), false],
    ['a price that is halved', prices(4000, 2000), false],
    ['a price that moves by more than a factor of 2, down', prices(4000, 1999), true],
    ['a price that moves by more than a factor of 2, up', prices(4000, 8001), true],
    ['a price that is doubled', prices(4000, 8000), false],
    ['a price that is gone', prices(4000, null), true],
    ['a price that is 0', prices(4000, 0), true],
    ['a first price', prices(null, 4000), false],
  ])('%s: %s', (_, said, expected) => {
    expect(takesAway(said)).toBe(expected);
  });

  it('one of its texts, and still does so until it has as many as before', () => {
    const said: Said = { subject: 'texts', shown: 9, said: 8 };
    expect(takesAway(said)).toBe(true);
    expect(takesAway({ ...said, said: 9 })).toBe(false);
    const claim = { ...said, first_at: noon, last_at: noon, applied_at: noon };
    expect(stillSays(claim, { ...said, shown: 8 })).toBe(true);
    expect(stillSays(claim, { ...said, shown: 8, said: 9 })).toBe(false);
  });

  it('says again what was shown before a claim, and so takes nothing away', () => {
    const claim = { ...prices(4000, 40), first_at: noon, last_at: noon, applied_at: noon };
    expect(returns(claim, prices(40, 4000))).toBe(true);
    expect(returns(claim, prices(40, 8001))).toBe(false);
    expect(stillSays(claim, prices(40, 41))).toBe(true);
    expect(stillSays(claim, prices(40, 4000))).toBe(false);
  });
});

describe('the limit', () => {
  it.each([
    [1, 1],
    [2, 1],
    [5, 2],
    [10, 5],
    [12, 5],
    [20, 5],
    [60, 6],
    [7500, 750],
  ])('of %i records is %i: a tenth or five, never more than half, at least one', (able, limit) => {
    expect(limitOf(able)).toBe(limit);
  });
});

describe('a claim', () => {
  const judged: JudgedClaim = {
    first_at: noon,
    sent_at: noon + minute,
    standing: 'free',
    whole: { able: 100, claiming: 10 },
    guard: 'hold',
    live: false,
  };

  it.each([
    ['said once is kept away', { first_at: null }, 'keep', 'said-once'],
    ['said again within a minute is kept away', { sent_at: noon + minute - 1 }, 'keep', 'said-once'],
    ['said twice is believed', {}, 'take', 'said-twice'],
    ['said twice is believed of as many as the limit', { whole: { able: 100, claiming: 10 } }, 'take', 'said-twice'],
    ['of more than the limit is kept away', { whole: { able: 100, claiming: 11 } }, 'keep', 'too-many'],
    [
      'of more than the limit is kept away when it is said once',
      { first_at: null, whole: { able: 100, claiming: 11 } },
      'keep',
      'too-many',
    ],
    ['is kept away while its subject is held', { standing: 'held', whole: { able: 100, claiming: 1 } }, 'keep', 'held'],
    ['is believed at once when a person has approved it', { first_at: null, standing: 'believed' }, 'take', 'believed'],
    ['is asked once more when it is agreed', { first_at: null, standing: 'agreed' }, 'keep', 'said-once'],
    [
      'is believed then, however many make it',
      { standing: 'agreed', whole: { able: 100, claiming: 60 } },
      'take',
      'believed',
    ],
    [
      'of a live check is believed at once, held or not',
      { first_at: null, live: true, standing: 'held' },
      'take',
      'live-check',
    ],
    [
      'of a mass is believed where masses are only warned of',
      { guard: 'warn', whole: { able: 100, claiming: 90 } },
      'take',
      'said-twice',
    ],
    ['is believed at once where nothing is guarded', { first_at: null, guard: 'off' }, 'take', 'not-guarded'],
  ] as const)('%s', (_, facts, kind, because) => {
    expect(judgeClaim({ ...judged, ...facts })).toEqual({ kind, because });
  });

  it('is asked a second time after a minute, and no more than one in a hundred calls is such a question', () => {
    expect(askAgainAt(noon, 0, 10)).toBe(noon + minute);
    expect(askAgainAt(noon, noon + minute, 10)).toBe(noon + minute + 10_000);
    expect(askAgainAt(noon, noon + minute, 1)).toBe(noon + minute + 100_000);
  });

  it('that has taken something away is looked at again after 30 minutes and 3 hours, then at the cadence', () => {
    expect(lookAgainAt('sale-status', noon, noon)).toBe(noon + 30 * minute);
    expect(lookAgainAt('sale-status', noon, noon + 30 * minute)).toBe(noon + 180 * minute);
    expect(lookAgainAt('sale-status', noon, noon + 180 * minute)).toBeNull();
    expect(lookAgainAt('near-prices', noon, noon)).toBeNull();
  });
});
