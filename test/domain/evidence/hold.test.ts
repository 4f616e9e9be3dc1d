import { describe, expect, it } from 'vitest';
import {
  type Hold,
  holdStanding,
  judgeHold,
  nextSampleAt,
  stateAfterSample,
} from '../../../src/domain/evidence/hold.ts';

const minute = 60_000;
const hour = 60 * minute;
const noon = Date.UTC(2026, 10, 21, 12);

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
