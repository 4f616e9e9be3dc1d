import { describe, expect, it } from 'vitest';
import { isGone, shareOf, usualNow } from '../../src/domain/conditions/fields.ts';

const day = 86_400_000;

describe('the share of products that carries a field', () => {
  it.each([
    ['counts those that can carry it', [1, 1, 0, 1, null, 1], 0.8],
    ['is unknown of fewer than five', [1, 1, 1, 1, null, null], null],
  ] as const)('%s', (_, carried, expected) => {
    expect(shareOf(carried)).toBe(expected);
  });

  it('is usual at once when it rises, and falls by a hundredth a day', () => {
    expect(usualNow(null, 0.3, 0)).toBe(0.3);
    expect(usualNow(0.3, 0.9, day)).toBe(0.9);
    expect(usualNow(1, 0, 5 * day)).toBeCloseTo(0.95);
    // A clock that was put back makes nothing usual.
    expect(usualNow(0.9, 0.5, -day)).toBe(0.9);
  });
});

describe('a field', () => {
  it.each([
    ['that all carried is gone when fewer than half still do', 1, 0.49, true],
    ['that half of them still carry is not', 1, 0.5, false],
    ['that three in four carried is never missed', 0.75, 0, false],
  ])('%s', (_, usual, share, expected) => {
    expect(isGone({ usual, share })).toBe(expected);
  });

  it('that stays away is taken as gone for good after three weeks', () => {
    const away = (days: number) => isGone({ usual: usualNow(1, 0, days * day), share: 0 });
    expect([away(20), away(21)]).toEqual([true, false]);
  });
});
