import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { roll } from '../../src/sandbox/random.ts';
import { noExtraCalls } from '../../src/schedule/call-price.rules.ts';
import {
  addWalkCosts,
  afterSignalledRead,
  afterVisitSignalled,
  bestWalkInterval,
  intervalAfterSignal,
  jumpOf,
  noWalkCosts,
  planReads,
  precisionOf,
  priorSignal,
  recallOf,
  type SignalBelief,
  type SignalledRead,
} from '../../src/schedule/signal.rules.ts';
import { afterVisit, priorVolatility } from '../../src/schedule/volatility.rules.ts';

const minute = 60_000;
const hour = 60 * minute;
const prior = priorVolatility('near');
const volatility = { shape: 2, exposure: 48 * hour };
const worth = { weight: 1, price: 0.1 * hour, floor: 5 * minute, cap: 6 * hour };
const exact = { precision: 0.9, recall: 0.8, every: 15 * minute };

/** What is believed after reads every three hours, with looks at the list in the middle of each pause. */
function learned(reads: number, happens: (read: number) => Pick<SignalledRead, 'changed'> & { signal: boolean }) {
  let belief: SignalBelief = priorSignal;
  for (let read = 0; read < reads; read += 1) {
    const at = read * 3 * hour;
    const { changed, signal } = happens(read);
    const looks = { before_at: at - 3 * hour, at: at - hour };
    belief = afterSignalledRead(belief, volatility, {
      before_at: at - 3 * hour,
      at,
      changed,
      signal: signal ? looks : null,
      looked_at: looks.at,
    });
  }
  return belief;
}

describe('what is believed of the list as a signal', () => {
  it('comes near what it is worth, from reads alone', () => {
    const belief = learned(3000, (read) => {
      const [shown, hidden] = [roll(1, read, 'shown') < 0.03, roll(1, read, 'hidden') < 0.02];
      return { changed: shown || hidden, signal: shown || roll(1, read, 'other') < 0.01 };
    });
    expect(recallOf(belief)).toBeGreaterThan(0.45);
    expect(recallOf(belief)).toBeLessThan(0.75);
    expect(precisionOf(belief)).toBeGreaterThan(0.6);
    expect(precisionOf(belief)).toBeLessThan(0.85);
  });

  it('is nothing where every entry differs at every walk', () => {
    const belief = learned(3000, (read) => ({ changed: roll(1, read, 'changed') < 0.06, signal: true }));
    expect(precisionOf(belief)).toBeLessThan(0.05);
    expect(recallOf(belief)).toBe(0);
  });

  it('is nothing where the list never changes', () => {
    const belief = learned(3000, (read) => ({ changed: roll(1, read, 'changed') < 0.06, signal: false }));
    expect(recallOf(belief)).toBe(0);
    expect(learned(3000, () => ({ changed: false, signal: false }))).toBe(priorSignal);
  });

  it('stays within bounds, whatever the clock did', () => {
    const instant = fc.integer({ min: -hour, max: 1000 * hour });
    const read = fc.record({
      before_at: instant,
      at: instant,
      changed: fc.boolean(),
      signal: fc.option(fc.record({ before_at: instant, at: instant })),
      looked_at: fc.option(instant),
    });
    fc.assert(
      fc.property(fc.array(read, { maxLength: 40 }), (reads) => {
        const belief = reads
          .filter(({ before_at, at }) => before_at < at)
          .reduce((known, each) => afterSignalledRead(known, volatility, each), priorSignal);
        for (const share of [precisionOf(belief), recallOf(belief)]) {
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
        }
      }),
    );
  });
});

describe('a record that the list says something about', () => {
  it('is read as without it where nothing is known of the list, or it shows nothing', () => {
    const blind = planReads(volatility, worth, null);
    expect(planReads(volatility, worth, { ...exact, recall: 0 })).toEqual(blind);
    expect(planReads(volatility, worth, { ...exact, every: 168 * hour })).toEqual(blind);
  });

  it('is read less often without a signal', () => {
    expect(planReads(volatility, worth, exact).every).toBeGreaterThan(planReads(volatility, worth, null).every * 1.3);
  });

  it('is due at once after a likely signal, later after a doubtful one, and never because of noise', () => {
    const { every } = planReads(volatility, worth, exact);
    expect(intervalAfterSignal(volatility, worth, exact, 0.9)).toBe(worth.floor);
    const doubtful = intervalAfterSignal(volatility, worth, exact, 0.01);
    expect(doubtful).toBeGreaterThan(worth.floor);
    expect(doubtful).toBeLessThan(every);
    expect(intervalAfterSignal(volatility, { ...worth, price: noExtraCalls }, exact, 0.9)).toBe(worth.cap);
  });

  it('is not suspected of what a read found before the signal', () => {
    const looks = { before_at: 0, at: 4 * hour };
    expect(jumpOf(exact, looks, -hour)).toBeCloseTo(0.9, 9);
    expect(jumpOf(exact, looks, 3 * hour)).toBeCloseTo(0.225, 9);
    expect(jumpOf(exact, looks, 4 * hour)).toBe(0);
    expect(jumpOf(exact, null, 0)).toBe(0);
  });

  it('has no rate beyond measure because it is read whenever it changed', () => {
    const belief = { rightly: 90, wrongly: 10, shown: 80, hidden: 20 };
    let [watched, blind] = [prior, prior];
    for (let at = 24 * hour; at < 28 * 24 * hour; at += 24 * hour) {
      const read = { before_at: at - 24 * hour, at, changed: true, looked_at: at - minute };
      const signal = { before_at: at - 20 * minute, at: at - minute };
      watched = afterVisitSignalled(watched, { ...read, signal }, belief, prior);
      blind = afterVisit(blind, 24 * hour, true, prior);
    }
    const daily = ({ shape, exposure }: typeof prior) => (shape / exposure) * 24 * hour;
    expect(daily(watched)).toBeLessThan(1.3);
    expect(daily(blind)).toBeGreaterThan(1.5 * daily(watched));
  });
});

describe('how often the list is walked', () => {
  const cadence = 168 * hour;
  const known = { rightly: 80, wrongly: 20, shown: 80, hidden: 20 };
  const records = (watch: typeof exact) =>
    Array.from({ length: 200 }, (_, id) => ({ ...worth, volatility, weight: 1 + (id % 3), watch }));
  const best = (watch: typeof exact, calls: number, products = records(watch)) =>
    bestWalkInterval(addWalkCosts(noWalkCosts(cadence, worth.floor, known), products, worth.price), worth.price, calls);

  it('is once a day where it shows nothing, and often where it shows most', () => {
    expect(best({ ...exact, recall: 0 }, 2)).toBe(24 * hour);
    expect(best(exact, 2)).toBeLessThan(2 * hour);
  });

  it('is more than once a day until enough changes were found to tell what it shows', () => {
    expect(bestWalkInterval(noWalkCosts(cadence, worth.floor, priorSignal), worth.price, 2)).toBe(6 * hour);
  });
});
