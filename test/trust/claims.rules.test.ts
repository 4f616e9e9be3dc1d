import { describe, expect, it } from 'vitest';
import {
  askAgainAt,
  gainOf,
  goesBack,
  isAlike,
  isGain,
  isHarmful,
  type JudgedClaim,
  judgeClaim,
  likenessOf,
  limitOf,
  marksOf,
  rereadAt,
  returns,
  type Said,
  stillClaims,
  takesAway,
} from '../../src/trust/claims.rules.ts';
import { type Hold, holdStanding, judgeHold, nextSampleAt, stateAfterSample } from '../../src/trust/hold.rules.ts';

/** A claim about an amount has no value. */
const amounts = { shown_as: null, said_as: null };
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
    const claim = { ...said, ...amounts, first_at: noon, last_at: noon, applied_at: noon };
    expect(stillClaims(claim, { ...said, shown: 8 })).toBe(true);
    expect(stillClaims(claim, { ...said, shown: 8, said: 9 })).toBe(false);
  });

  it('says again what was shown before a claim, and so takes nothing away', () => {
    const claim = { ...prices(4000, 40), ...amounts, first_at: noon, last_at: noon, applied_at: noon };
    expect(returns(claim, prices(40, 4000))).toBe(true);
    expect(returns(claim, prices(40, 8001))).toBe(false);
    expect(stillClaims(claim, prices(40, 41))).toBe(true);
    expect(stillClaims(claim, prices(40, 4000))).toBe(false);
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
    subject: 'near-dates',
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
    expect(rereadAt('sale-status', noon, noon)).toBe(noon + 30 * minute);
    expect(rereadAt('sale-status', noon, noon + 30 * minute)).toBe(noon + 180 * minute);
    expect(rereadAt('sale-status', noon, noon + 180 * minute)).toBeNull();
    expect(rereadAt('near-prices', noon, noon)).toBeNull();
  });
});

describe('a change that only a wave of them makes a claim', () => {
  const dates = (shown: number, said: number): Said => ({ subject: 'fewer-near-dates', shown, said });
  const moved = (shown: number, said: number): Said => ({ subject: 'alike-near-prices', shown, said });
  const zone = (shown_as: string | null, said_as: string | null): Said => ({ subject: 'alike-zones', shown: null, said: null, shown_as, said_as }); // biome-ignore format: a fact

  it.each<[string, Said, boolean]>([
    ['one date of three', dates(3, 2), false],
    ['two dates of six', dates(6, 4), true],
    ['three dates of six', dates(6, 3), true],
    ['15 % of the dates', dates(20, 17), false],
    ['more than 15 % of the dates', dates(20, 16), true],
    ['all dates, which is another claim', dates(28, 0), false],
    ['two dates more', dates(28, 30), false],
    ['half of the times', { subject: 'fewer-times', shown: 40, said: 20 }, false],
    ['more than half of the times', { subject: 'fewer-times', shown: 40, said: 19 }, true],
    ['two variants of three', { subject: 'fewer-variants', shown: 3, said: 1 }, true],
    ['a price that moves by 5 %', moved(4000, 4200), false],
    ['a price that moves by 8 %', moved(4000, 4320), true],
    ['a price that moves by more than a factor of 2, which is another claim', moved(4000, 1900), false],
    ['another zone', zone('Europe/Paris', 'UTC'), true],
    ['the same zone', zone('Europe/Paris', 'Europe/Paris'), false],
    ['a first zone', zone(null, 'UTC'), false],
  ])('is %s: %s', (_, said, expected) => {
    expect(takesAway(said)).toBe(expected);
    expect(marksOf(said).length > 0).toBe(expected);
  });

  it.each([0.6, 1.08, 1.9, 0.77])('to one ratio has a mark in common, however the price is rounded: × %d', (factor) => {
    const names = (price: number) => marksOf(moved(price, Math.round(price * factor))).map(({ name }) => name);
    const common = [900, 1234, 2500, 4999, 12000]
      .map(names)
      .reduce((some, each) => some.filter((name) => each.includes(name)));
    expect(common.length).toBeGreaterThan(0);
  });

  it('is held where it does harm, and only reported elsewhere', () => {
    expect([moved(4000, 2400), dates(30, 3), zone('Europe/Paris', 'UTC')].map(isHarmful)).toEqual([true, true, true]);
    const title: Said = { subject: 'alike-titles', shown: null, said: null, shown_as: 'Tower', said_as: 'TEST' };
    expect([moved(4000, 4320), title].map(isHarmful)).toEqual([false, false]);
  });

  it('belongs to a wave that it is like', () => {
    expect(isAlike(moved(5000, 3000), likenessOf(moved(4000, 2400), ''))).toBe(true);
    expect(isAlike(moved(5000, 4000), likenessOf(moved(4000, 2400), ''))).toBe(false);
    expect(isAlike(zone('Europe/Rome', 'UTC'), likenessOf(zone('Europe/Paris', 'UTC'), '=UTC'))).toBe(true);
    expect(isAlike(zone('Europe/Rome', 'Europe/Paris'), likenessOf(zone('Europe/Paris', 'UTC'), '=UTC'))).toBe(false);
    expect(isAlike(dates(20, 3), likenessOf(dates(30, 3), ''))).toBe(true);
  });

  it('is kept away without a second answer, unless it is only reported', () => {
    const first = { subject: 'fewer-near-dates', first_at: null, sent_at: noon, standing: 'free', whole: { able: 100, claiming: 11 }, isWave: true, live: false } as const; // biome-ignore format: facts
    expect(judgeClaim({ ...first, guard: 'hold' })).toEqual({ kind: 'keep', because: 'too-many' });
    expect(judgeClaim({ ...first, guard: 'warn' })).toEqual({ kind: 'take', because: 'reported' });
    expect(judgeClaim({ ...first, guard: 'off' })).toEqual({ kind: 'take', because: 'not-guarded' });
    expect(judgeClaim({ ...first, guard: 'hold', live: true })).toEqual({ kind: 'take', because: 'live-check' });
  });
});

describe('what a record has gained', () => {
  const claim = (said: Said) => ({ ...amounts, ...said, first_at: noon, last_at: noon, applied_at: noon });
  const gained = (shown: number | null, said: number): Said => ({ subject: 'near-dates', shown, said });

  it.each<[string, Said, boolean]>([
    ['dates of a product that had none', gained(0, 20), true],
    ['dates of a window that was never read', gained(null, 20), false],
    ['two dates more', gained(18, 20), false],
    ['a sale', { subject: 'sale-status', shown: 0, said: 1 }, true],
    ['many dates more', { subject: 'fewer-far-dates', shown: 8, said: 20 }, true],
    ['a lower price, as no price is gained', { subject: 'alike-near-prices', shown: 4000, said: 2400 }, false],
  ])('is %s: %s', (_, said, expected) => {
    expect(gainOf(said)).toEqual(expected ? said : null);
    if (expected) expect(isGain(claim(said))).toBe(true);
  });

  it('goes back to what was shown before, and no further', () => {
    expect(goesBack(claim(gained(0, 20)), gained(20, 0))).toBe(true);
    const more = claim({ subject: 'fewer-far-dates', shown: 12, said: 30 });
    expect(goesBack(more, { subject: 'fewer-far-dates', shown: 30, said: 11 })).toBe(true);
    expect(goesBack(more, { subject: 'fewer-far-dates', shown: 30, said: 5 })).toBe(false);
  });

  it('is no claim, and a claim is no gain', () => {
    expect(isGain(claim(gained(20, 0)))).toBe(false);
  });
});

const hour = 60 * minute;

const hold: Hold = {
  subject: 'near-dates',
  opened_at: noon,
  state: 'held',
  next_at: noon + minute,
  sampled_at: null,
  shares: [],
  decision: null,
  decided_until: null,
  ended_at: null,
  likeness: null,
};
const half = { able: 100, claiming: 50, contradicting: 50 };

describe('a hold', () => {
  it('is judged by samples after 1, 5, 15, 30 and 60 minutes, then each hour', () => {
    const at: number[] = [];
    for (let now = noon; at.length < 7; now = at.at(-1) ?? now) at.push(nextSampleAt(noon, now));
    expect(at.map((each) => (each - noon) / minute)).toEqual([1, 5, 15, 30, 60, 120, 180]);
  });

  it('ends when fewer than half of the limit claim it', () => {
    expect(judgeHold(hold, { ...half, claiming: 5 }, noon)).toBe('goes-on');
    expect(judgeHold(hold, { ...half, claiming: 4 }, noon)).toBe('passed');
  });

  it.each([
    ['dates are believed after three hours', 'near-dates', 3 * hour, [0.85, 1, 1], half, 'agreed'],
    ['dates are not believed before', 'near-dates', 3 * hour - 1, [1, 1, 1], half, 'goes-on'],
    ['prices are believed after a day', 'near-prices', 24 * hour, [1, 1, 1], half, 'agreed'],
    ['prices are not believed before', 'near-prices', 24 * hour - 1, [1, 1, 1], half, 'goes-on'],
    ['one of three samples that waver is enough to go on', 'near-dates', 5 * hour, [0.84, 1, 1], half, 'goes-on'],
    ['two samples say nothing', 'near-dates', 5 * hour, [1, 1], half, 'goes-on'],
    [
      'of a whole catalogue of 60 or more nothing agrees',
      'near-dates',
      99 * hour,
      [1, 1, 1],
      { able: 60, claiming: 25, contradicting: 6 },
      'goes-on',
    ],
    [
      'of four fifths of it, it does',
      'near-dates',
      3 * hour,
      [1, 1, 1],
      { able: 60, claiming: 24, contradicting: 6 },
      'agreed',
    ],
    [
      'of a whole catalogue of fewer, it does',
      'near-dates',
      3 * hour,
      [1, 1, 1],
      { able: 59, claiming: 59, contradicting: 0 },
      'agreed',
    ],
    ['two samples in which few claim it have all asked again', 'near-dates', hour, [0.15, 0.1], half, 'taken-back'],
    ['one such sample has not', 'near-dates', hour, [0.2, 0.1], half, 'goes-on'],
  ] as const)('%s', (_, subject, after, shares, whole, verdict) => {
    expect(judgeHold({ ...hold, subject, shares }, whole, noon + after)).toBe(verdict);
  });

  it('goes on where the service, asked again, says it once more', () => {
    expect(stateAfterSample('taken-back', 0.2)).toBe('held');
    expect(stateAfterSample('taken-back', 0.1)).toBe('taken-back');
    expect(stateAfterSample('held', 0)).toBe('held');
  });

  it('is believed or kept for as long as a person has decided; what is agreed is asked once more', () => {
    expect(holdStanding(null, noon)).toBe('free');
    expect(holdStanding(hold, noon)).toBe('held');
    expect(holdStanding({ ...hold, state: 'asking' }, noon)).toBe('agreed');
    expect(holdStanding({ ...hold, state: 'taken-back' }, noon)).toBe('held');
    expect(holdStanding({ ...hold, state: 'ended' }, noon)).toBe('free');
    const approved = { ...hold, decision: 'approved', decided_until: noon + 24 * hour } as const;
    expect(holdStanding(approved, noon)).toBe('believed');
    expect(holdStanding({ ...approved, decision: 'rejected', state: 'asking' }, noon)).toBe('held');
    expect(holdStanding(approved, noon + 24 * hour)).toBe('held');
  });
});
