import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roll } from '../../src/sandbox/random.ts';
import {
  addDemand,
  clearingPrice,
  type Demand,
  noDemand,
  noExtraCalls,
  type Priced,
  pricesAround,
  staleWith,
} from '../../src/schedule/call-price.rules.ts';
import {
  afterVisit,
  changesPerDay,
  changesWithin,
  priorVolatility,
  stillTrue,
  visitValue,
  worthwhileInterval,
} from '../../src/schedule/volatility.rules.ts';

const hour = 3_600_000;
const prior = priorVolatility('near');

/** What is believed after visits every `every` hours to a record that changes `rate` times a day. */
function afterDays(days: number, rate: number, every = 3) {
  let believed = prior;
  for (let visit = 0; visit < (days * 24) / every; visit += 1)
    believed = afterVisit(
      believed,
      every * hour,
      roll(1, visit, Math.round(rate * 1000)) < 1 - Math.exp((-rate * every) / 24),
      prior,
    );
  return changesPerDay(believed);
}

describe('a change rate', () => {
  it.each([0.2, 1, 4])('of %s a day is learned in four weeks, within a third', (rate) => {
    expect(afterDays(28, rate) / rate).toBeGreaterThan(2 / 3);
    expect(afterDays(28, rate) / rate).toBeLessThan(1.5);
  });

  it('that has changed tenfold is noticed within days', () => {
    let believed = prior;
    for (let visit = 0; visit < 28 * 8; visit += 1) believed = afterVisit(believed, 3 * hour, visit % 16 === 0, prior);
    const before = changesPerDay(believed);
    for (let visit = 0; visit < 3 * 8; visit += 1) believed = afterVisit(believed, 3 * hour, visit % 2 === 0, prior);
    expect(changesPerDay(believed)).toBeGreaterThan(3 * before);
  });

  it('of a record that nobody has seen twice is what is usual for its kind', () => {
    expect(changesPerDay(prior)).toBeCloseTo(0.4, 5);
    expect(afterVisit(prior, 0, true, prior)).toEqual(prior);
  });

  it('has one change expected where one was seen within a moment, and more the longer it was', () => {
    const hourly = { shape: 1e6, exposure: 1e6 * hour };
    expect(changesWithin(hourly, 1e-6)).toBe(1);
    expect(changesWithin(hourly, 1000)).toBeCloseTo(1, 3);
    expect(changesWithin(hourly, hour)).toBeCloseTo(1 / (1 - Math.exp(-1)), 5);
    expect(changesWithin(hourly, 100 * hour)).toBeCloseTo(100, 5);
  });

  it('goes up with a change and down without one, and stays a number', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 1, max: 90 * 24 * hour }), fc.boolean()), { maxLength: 60 }),
        fc.integer({ min: 1, max: 24 * hour }),
        (visits, elapsed) => {
          const believed = visits.reduce((state, [ms, changed]) => afterVisit(state, ms, changed, prior), prior);
          expect(believed.shape).toBeGreaterThan(0);
          expect(believed.exposure).toBeGreaterThan(0);
          const [up, down] = [true, false].map((changed) =>
            stillTrue(afterVisit(believed, elapsed, changed, prior), hour),
          );
          expect(up).toBeLessThanOrEqual((down ?? 0) + 1e-9);
        },
      ),
    );
  });
});

describe('the value of a visit', () => {
  it('is that of a known rate where much is known (Azar et al. 2018)', () => {
    const rate = 1 / (10 * hour);
    const sure = { shape: 1e6, exposure: 1e6 / rate };
    for (const hours of [1, 6, 24]) {
      const x = rate * hours * hour;
      expect(visitValue(sure, hours * hour)).toBeCloseTo((1 - Math.exp(-x) * (1 + x)) / rate, -2);
    }
  });
});

describe('a worthwhile interval', () => {
  const bounds = { floor: hour / 4, cap: 6 * hour };

  it('stays between floor and cadence, whatever a call costs', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 1e12, noNaN: true }),
        fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
        fc.integer({ min: hour / 60, max: 1000 * hour }),
        (price, weight, exposure) => {
          const interval = worthwhileInterval({ shape: 0.5, exposure }, { price, weight, ...bounds });
          expect(interval).toBeGreaterThanOrEqual(bounds.floor);
          expect(interval).toBeLessThanOrEqual(bounds.cap);
        },
      ),
    );
  });

  it('is shorter for what sells more, and longer where calls are dear', () => {
    const at = (weight: number, price: number) =>
      worthwhileInterval({ shape: 2, exposure: 48 * hour }, { weight, price, ...bounds });
    expect(at(10, hour / 2)).toBeLessThan(at(1, hour / 2));
    expect(at(10, hour)).toBeGreaterThan(at(10, hour / 4));
  });
});

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
