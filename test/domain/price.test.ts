import { describe, expect, it } from 'vitest';
import {
  addDemand,
  clearingPrice,
  type Demand,
  noDemand,
  noExtraCalls,
  type Priced,
  pricesAround,
  staleWith,
} from '../../src/domain/schedule/price.ts';
import { stillTrue } from '../../src/domain/schedule/volatility.ts';
import { roll } from '../../src/sandbox/random.ts';

const hour = 3_600_000;
const records: Priced[] = Array.from({ length: 300 }, (_, id) => ({
  volatility: { shape: 1 + 3 * roll(1, id, 'a'), exposure: (10 + 300 * roll(1, id, 'b')) * hour },
  weight: 1 / (1 + id) ** 0.9,
  cap: 6 * hour,
  floor: hour / 4,
}));

/** Finds a price as the daemon does: again and again around the last one. */
function settle(extra: number): { price: number; asked: number; needed: number; demand: Demand } {
  let price: number | null = null;
  let demand: Demand = noDemand([]);
  for (let round = 0; round < 6; round += 1) {
    demand = addDemand(noDemand(pricesAround(price)), records);
    price = clearingPrice(demand, extra * demand.needed);
  }
  const at = addDemand(noDemand([price ?? 0]), records);
  return { price: price ?? 0, asked: at.asked[0] ?? 0, needed: at.needed, demand };
}

describe('the price of a call', () => {
  it.each([0.1, 0.25, 1, 3])('is such that records ask for %s times the calls of their cadences more', (extra) => {
    const { asked, needed } = settle(extra);
    expect(asked / needed).toBeCloseTo(1 + extra, 2);
  });

  it('falls as more may be spent', () => {
    expect(settle(1).price).toBeLessThan(settle(0.1).price);
  });

  it('follows at once when less may be spent than when the demand was surveyed', () => {
    const { demand, needed } = settle(3);
    const price = clearingPrice(demand, 0.5 * needed);
    const times = (addDemand(noDemand([price]), records).asked[0] ?? 0) / needed;
    expect(times).toBeGreaterThan(1.35);
    expect(times).toBeLessThan(1.55);
    expect(clearingPrice(demand, 0)).toBe(noExtraCalls);
  });

  it('is beyond reach where nothing more may be spent', () => {
    const { price, asked, needed } = settle(0);
    expect(price).toBe(noExtraCalls);
    expect(asked).toBeCloseTo(needed, 12);
  });

  it('buys freshness: each call more makes less outdated, and the cadences alone leave most', () => {
    const { demand, needed } = settle(1);
    const outdated = [0, 0.5, 1, 2, 4].map((extra) => staleWith(demand, extra * needed) ?? Number.NaN);
    expect(outdated).toEqual([...outdated].sort((a, b) => b - a));
    expect(new Set(outdated).size).toBe(outdated.length);
    expect(outdated[0]).toBeCloseTo(demand.stale_needed / demand.weight, 12);
    expect(outdated[2]).toBeCloseTo((demand.stale[4] ?? 0) / demand.weight, 2);
    expect(staleWith(noDemand(pricesAround(null)), 0)).toBeNull();
  });

  it('leaves outdated what lies on the line between two prices whose calls are near', () => {
    const known = { prices: [1, 2], needed: 1, asked: [3, 2], weight: 10, stale_needed: 8, stale: [2, 4] };
    expect([0, 0.5, 1, 1.5, 2, 9].map((extra) => staleWith(known, extra))).toEqual([0.8, 0.6, 0.4, 0.3, 0.2, 0.2]);
  });

  it('asks for no read before a change is at least one percent likely, however little a call costs', () => {
    const quiet: Priced = {
      volatility: { shape: 1, exposure: 1000 * hour },
      weight: 1,
      cap: 24 * hour,
      floor: hour / 12,
    };
    const { asked } = addDemand(noDemand([0]), [quiet]);
    expect(1 / (asked[0] ?? 0) / hour).toBeCloseTo(10.1, 1);
    expect(1 - stillTrue(quiet.volatility, 1 / (asked[0] ?? 0))).toBeCloseTo(0.01, 6);
  });
});
