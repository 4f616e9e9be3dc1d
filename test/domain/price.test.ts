import { describe, expect, it } from 'vitest';
import {
  addDemand,
  clearingPrice,
  type Demand,
  noDemand,
  noExtraCalls,
  type Priced,
  pricesAround,
} from '../../src/domain/schedule/price.ts';
import { roll } from '../../src/sandbox/random.ts';

const hour = 3_600_000;
const records: Priced[] = Array.from({ length: 300 }, (_, id) => ({
  volatility: { shape: 1 + 3 * roll(1, id, 'a'), exposure: (10 + 300 * roll(1, id, 'b')) * hour },
  weight: 1 / (1 + id) ** 0.9,
  cap: 6 * hour,
  floor: hour / 4,
}));

/** Finds a price as the daemon does: again and again around the last one. */
function settle(extra: number, most = Number.POSITIVE_INFINITY): { price: number; asked: number; needed: number } {
  let price: number | null = null;
  let demand: Demand = noDemand([]);
  for (let round = 0; round < 6; round += 1) {
    demand = addDemand(noDemand(pricesAround(price)), records);
    price = clearingPrice(demand, extra, most);
  }
  const at = addDemand(noDemand([price ?? 0]), records);
  return { price: price ?? 0, asked: at.asked[0] ?? 0, needed: at.needed };
}

describe('the price of a call', () => {
  it.each([0.1, 0.25, 1, 3])('is such that records ask for %s times the calls of their cadences more', (extra) => {
    const { asked, needed } = settle(extra);
    expect(asked / needed).toBeCloseTo(1 + extra, 2);
  });

  it('falls as more may be spent', () => {
    expect(settle(1).price).toBeLessThan(settle(0.1).price);
  });

  it('lets nobody ask for more than what may be spent in all', () => {
    const { needed } = settle(0);
    expect(settle(5, needed * 1.2).asked / needed).toBeCloseTo(1.2, 2);
  });

  it('is beyond reach where nothing more may be spent', () => {
    const { price, asked, needed } = settle(0);
    expect(price).toBe(noExtraCalls);
    expect(asked).toBeCloseTo(needed, 12);
  });

  it('is the same in slices as in one sum', () => {
    const prices = pricesAround(null);
    const whole = addDemand(noDemand(prices), records);
    const sliced = [records.slice(0, 100), records.slice(100)].reduce(addDemand, noDemand(prices));
    expect(sliced.asked.map((calls) => calls.toFixed(15))).toEqual(whole.asked.map((calls) => calls.toFixed(15)));
  });
});
