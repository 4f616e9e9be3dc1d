import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  afterAnswer,
  afterMiss,
  afterThrottle,
  type Budget,
  burst,
  dueAfter,
  pauseLeft,
  startBudget,
  turnIn,
} from '../../src/domain/budget.ts';

const now = Date.UTC(2026, 10, 21);
const second = 1000;
const day = 86_400_000;
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the rate', () => {
  test('starts at half the ceiling', () => {
    expect(startBudget(10, now).rate).toBe(5);
  });

  test('goes up by a tenth of a call for each ten clean seconds', () => {
    let budget = startBudget(10, now);
    for (let s = 0; s <= 30; s++) budget = afterAnswer(budget, now + s * second);
    expect(budget.rate).toBeCloseTo(5.3);
  });

  test('goes up by a hundredth of a large ceiling, and not beyond it', () => {
    let budget = startBudget(5_000, now);
    budget = afterAnswer(budget, now + 10 * second);
    expect(budget.rate).toBe(2_550);
    for (let s = 20; s <= 2_000; s += 10) budget = afterAnswer(budget, now + s * second);
    expect(budget.rate).toBe(5_000);
  });

  test('is halved once by all answers of one burst', () => {
    let budget = startBudget(10, now);
    for (let i = 0; i < 4; i++) budget = afterThrottle(budget, null, 0, now + i);
    expect(budget).toMatchObject({ rate: 2.5, throttles: 1 });
    expect(pauseLeft(budget, now)).toBe(second);
  });

  test('is halved again after five seconds', () => {
    let budget = afterThrottle(startBudget(10, now), null, 0, now);
    budget = afterThrottle(budget, null, 0, now + 4_999);
    expect(budget.rate).toBe(2.5);
    budget = afterThrottle(budget, null, 0, now + 5_000);
    expect(budget.rate).toBe(1.25);
  });

  test('is halved at once where the clock was set back since', () => {
    const budget = afterThrottle(startBudget(10, now), null, 0, now);
    expect(afterThrottle(budget, null, 0, now - day).rate).toBe(1.25);
  });

  test('never falls below one call in twenty seconds', () => {
    let budget = startBudget(10, now);
    for (let i = 0; i < 50; i++) budget = afterThrottle(budget, null, 0, now + i * 60 * second);
    expect(budget.rate).toBe(1 / 20);
  });

  test('does not go up for answers to calls made before the throttle', () => {
    const throttled = afterThrottle(startBudget(10, now), now + 60 * second, 0, now);
    expect(afterAnswer(throttled, now + 30 * second)).toEqual(throttled);
  });
});

describe('the pause', () => {
  test('lasts as long as the service said, and up to a tenth longer', () => {
    const start = startBudget(10, now);
    expect(pauseLeft(afterThrottle(start, now + 30 * second, 0, now), now)).toBe(30 * second);
    expect(pauseLeft(afterThrottle(start, now + 30 * second, 0.5, now), now)).toBe(31.5 * second);
  });

  test('is an hour at most, whatever the service said', () => {
    expect(pauseLeft(afterThrottle(startBudget(10, now), now + 30 * day, 0, now), now)).toBe(3600 * second);
  });

  test('is at least one gap of the halved rate where the service said zero', () => {
    expect(pauseLeft(afterThrottle(startBudget(10, now), now, 0, now), now)).toBe(400);
  });

  test('doubles with each throttle that follows a pause, up to a minute', () => {
    let [budget, at] = [startBudget(10, now), now];
    const pauses = Array.from({ length: 8 }, () => {
      budget = afterThrottle(budget, null, 0, at);
      const left = pauseLeft(budget, at);
      at += left;
      return left / second;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(pauseLeft(afterThrottle(afterAnswer(budget, at), null, 0, at), at)).toBe(second);
  });

  test('is never shortened by a later throttle', () => {
    const long = afterThrottle(startBudget(10, now), now + 60 * second, 0, now);
    expect(pauseLeft(afterThrottle(long, now + second, 0, now), now)).toBe(60 * second);
  });

  test('without a connection doubles up to two minutes, and any answer ends the row', () => {
    let [budget, at] = [startBudget(10, now), now];
    const pauses = Array.from({ length: 9 }, () => {
      budget = afterMiss(budget, 0, at);
      const left = pauseLeft(budget, at);
      at += left;
      return left / second;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 120, 120]);
    expect(budget.unreachable_since).toBe(now);
    expect(afterAnswer(budget, at)).toMatchObject({ misses: 0, unreachable_since: null });
    expect(afterThrottle(budget, null, 0, at)).toMatchObject({ misses: 0, unreachable_since: null });
  });

  test('counts the calls that an outage breaks together as one miss', () => {
    let budget = startBudget(10, now);
    for (let i = 0; i < 4; i++) budget = afterMiss(budget, 0, now + i);
    expect(budget.misses).toBe(1);
    expect(pauseLeft(budget, now)).toBe(second);
  });

  test('that ends further ahead than any can counts as absent', () => {
    const from2038 = { ...startBudget(10, now), not_before: Date.UTC(2038, 0, 1) };
    expect(pauseLeft(from2038, now)).toBe(0);
    expect(pauseLeft(afterAnswer(from2038, now), Date.UTC(2037, 11, 31, 23, 59))).toBe(0);
  });
});

/** What may happen to a budget: an outcome, and how the clock moves before it. */
const happening = fc.record({
  after: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 0, max: 20 * second }) },
    { weight: 1, arbitrary: fc.constantFrom(-day, 3 * day, -30 * 60 * second, 12 * 365 * day) },
  ),
  chance,
  outcome: fc.oneof(
    fc.constant({ kind: 'answer' as const }),
    fc.constant({ kind: 'miss' as const }),
    fc.record({
      kind: fc.constant('throttle' as const),
      wait: fc.option(fc.integer({ min: -day, max: 10 * day }), { nil: null }),
    }),
  ),
});
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never;

function apply(budget: Budget, { outcome, chance: c }: Happening, at: number): Budget {
  if (outcome.kind === 'answer') return afterAnswer(budget, at);
  if (outcome.kind === 'miss') return afterMiss(budget, c, at);
  return afterThrottle(budget, outcome.wait === null ? null : at + outcome.wait, c, at);
}

describe('whatever happens, and however the clock jumps,', () => {
  const ceilings = fc.oneof(fc.double({ min: 0.001, max: 20, noNaN: true }), fc.integer({ min: 20, max: 100_000 }));

  test('the rate stays between the floor and the ceiling, and no pause is longer than an hour and a tenth', () => {
    fc.assert(
      fc.property(ceilings, fc.array(happening, { maxLength: 200 }), (ceiling, happenings) => {
        let [budget, at] = [startBudget(ceiling, now), now];
        for (const each of happenings) {
          at += each.after;
          budget = apply(budget, each, at);
          expect(budget.rate).toBeGreaterThanOrEqual(Math.min(0.05, ceiling));
          expect(budget.rate).toBeLessThanOrEqual(ceiling);
          expect(pauseLeft(budget, at)).toBeLessThanOrEqual(1.1 * 3600 * second);
        }
      }),
    );
  });

  test('nothing freezes: after an hour and a tenth and clean answers the rate is back at the ceiling', () => {
    fc.assert(
      fc.property(ceilings, fc.array(happening, { maxLength: 50 }), (ceiling, happenings) => {
        let [budget, at] = [startBudget(ceiling, now), now];
        for (const each of happenings) {
          at += each.after;
          budget = apply(budget, each, at);
        }
        at += 1.1 * 3600 * second + 1;
        for (let i = 0; i < 300; i++) budget = afterAnswer(budget, at + i * 10 * second);
        expect(budget.rate).toBe(ceiling);
        expect(pauseLeft(budget, at)).toBe(0);
      }),
    );
  });
});

describe('a turn', () => {
  test('comes alone at ten calls a second or fewer', () => {
    expect(burst({ rate: 10 }, 4)).toBe(1);
    expect(burst({ rate: 0.05 }, 4)).toBe(1);
  });

  test('comes with at most as many others as can be in flight', () => {
    expect(burst({ rate: 20 }, 4)).toBe(2);
    expect(burst({ rate: 100_000 }, 4)).toBe(4);
  });

  test('in any second at most the rate and one burst of them come, however the demand comes', () => {
    const rates = fc.double({ min: 0.5, max: 200, noNaN: true });
    const gaps = fc.array(fc.double({ min: 0, max: 300, noNaN: true }), { minLength: 50, maxLength: 400 });
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 64 }), gaps, (rate, concurrency, demand) => {
        let [due, at] = [Number.NEGATIVE_INFINITY, 0];
        const starts = demand.map((gap) => {
          at += gap;
          at += turnIn({ rate }, concurrency, due, at);
          due = dueAfter({ rate }, due, at);
          return at;
        });
        for (const [i, from] of starts.entries()) {
          const within = starts.slice(i).filter((start) => start < from + second).length;
          expect(within).toBeLessThanOrEqual(rate + burst({ rate }, concurrency) + 1e-6);
        }
      }),
    );
  });
});

describe('under a hard limit of calls a second', () => {
  /** The service counts each second and throttles what is over; half an hour to settle, half an hour measured. */
  function settle(limit: number, ceiling: number, changed = limit): { throttled: number; share: number } {
    const concurrency = 4;
    let [budget, due, at] = [startBudget(ceiling, 0), Number.NEGATIVE_INFINITY, 0];
    const counts = { second: 0, in_second: 0, calls: 0, throttled: 0 };
    const [half, end] = [1800 * second, 3600 * second];
    while (at < end) {
      at += Math.max(turnIn(budget, concurrency, due, at), pauseLeft(budget, at));
      due = dueAfter(budget, due, at);
      const within = Math.floor(at / second);
      if (within !== counts.second) Object.assign(counts, { second: within, in_second: 0 });
      counts.in_second += 1;
      const over = counts.in_second > (at < half ? limit : changed);
      if (at >= half + 300 * second) {
        counts.calls += 1;
        counts.throttled += over ? 1 : 0;
      }
      budget = over ? afterThrottle(budget, null, 0.5, at) : afterAnswer(budget, at);
    }
    const possible = Math.min(changed, ceiling) * ((end - half) / second - 300);
    return { throttled: counts.throttled / counts.calls, share: (counts.calls - counts.throttled) / possible };
  }

  test.for([1, 2, 3, 5, 8, 10, 15, 20])(
    'of %i, fewer than 5 %% are throttled and at least 70 %% of it is used',
    (limit) => {
      const { throttled, share } = settle(limit, 20);
      expect(throttled).toBeLessThan(0.05);
      expect(share).toBeGreaterThanOrEqual(0.7);
    },
  );

  test.for([
    [4, 8],
    [8, 4],
    [15, 5],
  ] as const)('that changes from %i to %i, the rate follows', ([before, after]) => {
    const { throttled, share } = settle(before, 10, after);
    expect(throttled).toBeLessThan(0.05);
    expect(share).toBeGreaterThanOrEqual(0.7);
  });
});
