import { describe, expect, it } from 'vitest';
import { type DayForm, pricePairs } from '../../src/dates/availability.rules.ts';
import { mostRateMove, movedByRate, type PricePair, rateDifference } from '../../src/dates/converted-price.rules.ts';

const day = 86_400_000;

describe('prices of dates that were read together', () => {
  const moved = (...dates: PricePair[][]) =>
    movedByRate(
      dates.map((pairs) => ({ pairs })),
      0.02,
    ).length;
  const by =
    (ratio: number) =>
    (...prices: number[]) =>
      prices.map((price): PricePair => [price, Math.round(price * ratio)]);
  const rate = by(1.0045);
  const same = by(1);

  it('have moved by the rate where one ratio explains them all, but for rounding', () => {
    expect(moved(rate(1810, 905), rate(26_800), rate(4447))).toBe(3);
    expect(moved(by(0.996)(1810), by(0.996)(905))).toBe(2);
  });

  it('have not where most of them stay, or the ratio is no usual move of a rate', () => {
    expect(moved(same(1810), same(905), rate(4447))).toBe(0);
    expect(moved(by(1.1)(1810), by(1.1)(905))).toBe(0);
    expect(moved()).toBe(0);
    expect(moved([[0, 0]])).toBe(0);
  });

  it('have not on the dates that moved otherwise', () => {
    expect(moved(rate(1810), rate(905), rate(4447), by(1.08)(4447))).toBe(3);
  });

  it('may have moved further the longer ago they were read', () => {
    expect(mostRateMove(6 * 3_600_000)).toBeCloseTo(0.02, 9);
    expect(mostRateMove(4 * day)).toBeCloseTo(0.04, 9);
  });

  it('are paired, before and after, where nothing else differs but tickets beyond the 10 that one may order', () => {
    const form = (price: number | null, tickets = 5, time = 600): DayForm => [
      9,
      null,
      [[time, 9, [[1, tickets, price]]]],
    ];
    expect(pricePairs(form(100), form(101), 10)).toEqual([[100, 101]]);
    expect(pricePairs(form(100), form(101, 4), 10)).toBeNull();
    expect(pricePairs(form(100, 12), form(101, 11), 10)).toEqual([[100, 101]]);
    expect(pricePairs(form(100), form(101, 5, 660), 10)).toBeNull();
    expect(pricePairs(form(100), form(null), 10)).toBeNull();
    expect(pricePairs(form(100), undefined, 10)).toBeNull();
  });
});

describe('two documents of a product', () => {
  const own = {
    title: 'Tower',
    price: 20,
    prediscount_price: 25,
    supplier_currency: 'EUR',
    price_in_supplier_currency: 18,
  };
  const differ = (after: object, currency = 'USD', before: object = own) =>
    rateDifference(JSON.stringify(before), JSON.stringify(after), currency);

  it("differ by the rate where the supplier's own price is the same", () => {
    expect(differ({ ...own, price: 20.1, prediscount_price: 25.1 })).toEqual({ prices: true, alone: true });
    expect(differ({ ...own, price: 20.1, title: 'Old Tower' })).toEqual({ prices: true, alone: false });
  });

  it('do not where it is another or unknown, or the price is not converted', () => {
    const none = { prices: false, alone: false };
    expect(differ({ ...own, price: 22, price_in_supplier_currency: 19.8 })).toEqual(none);
    expect(differ({ ...own, price: 22, price_in_supplier_currency: null })).toEqual(none);
    expect(differ({ ...own, price: 22, supplier_currency: 'GBP' })).toEqual(none);
    expect(differ({ ...own, price: 22 }, 'EUR')).toEqual(none);
    expect(differ(own)).toEqual(none);
  });
});
