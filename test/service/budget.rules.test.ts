import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { burst, dueAfter, turnIn } from '../../src/schedule/call-spacing.rules.ts';
import { type Budget, pauseLeft, resumeBudget, startBudget, storedBudget } from '../../src/service/budget.rules.ts';
import { afterAnswer, afterMiss, afterThrottle } from '../../src/service/outcomes.rules.ts';

const now = Date.UTC(2026, 10, 21);
const second = 1000;
const day = 86_400_000;
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** Answers for so many seconds, as fast as the rate allows, with calls always waiting. */
function answered(budget: Budget, seconds: number, from: number): Budget {
  let [next, at] = [budget, from];
  while (at < from + seconds * second) {
    at += 1000 / next.rate;
    next = afterAnswer(next, 'waiting', at);
  }
  return next;
}

describe('the rate', () => {
  test('starts at half the ceiling or thirty calls, at a tenth of a high ceiling, and reaches it within twenty seconds while no limit was met', () => {
    expect(startBudget(10, now).rate).toBe(5);
    expect(startBudget(300, now).rate).toBe(30);
    for (const ceiling of [10, 30, 300]) expect(answered(startBudget(ceiling, now), 20, now).rate).toBe(ceiling);
  });

  test('is cut to 0.85 of the limit by a single throttle, and not again by those sent with it', () => {
    const full = answered(startBudget(10, now), 60, now);
    const at = now + 61 * second;
    const once = afterThrottle(full, null, 0, at);
    expect(once.rate / 10).toBeCloseTo(0.8, 1);
    // Sent before the cut.
    expect(afterThrottle(once, null, 0, at + 100, at - 50).limit).toBe(once.limit);
    const back = answered(once, 10, at + second);
    expect(afterThrottle(back, null, 0, at + 12 * second).limit).toBeLessThan(once.limit as number);
  });

  test('is cut at once where the clock was set back since', () => {
    const cut = afterThrottle(answered(startBudget(10, now), 60, now), null, 0, now + 61 * second);
    const budget = afterAnswer(cut, 'waiting', now - day);
    expect(afterThrottle(budget, null, 0, now - day).rate).toBeLessThan(budget.rate);
  });

  test('falls no further by the throttles that follow one without an answer in between, but the pause lasts a second then', () => {
    const once = afterThrottle(answered(startBudget(10, now), 60, now), null, 0, now + 61 * second);
    const twice = afterThrottle(once, null, 0, now + 62 * second);
    expect([twice.rate, twice.limit]).toEqual([once.rate, once.limit]);
    expect([once, twice].map((budget) => budget.not_before - budget.heard_at)).toEqual([500, 1_000]);
    // That is learned, so the first pause is longer the next time.
    const again = afterThrottle(answered(twice, 20, now + 64 * second), null, 0, now + 90 * second);
    expect(again.not_before - again.heard_at).toBeGreaterThan(900);
  });

  test('does not probe above the last limit while nobody waits for a call', () => {
    let budget: Budget = { ...startBudget(100, now), rate: 8, cut_to: 8, limit: 10, limit_is: 'met' };
    for (let s = 0; s < 3_600; s++) budget = afterAnswer(budget, 'none', now + s * second);
    expect(budget.rate).toBeGreaterThan(9.9);
    expect(budget.rate).toBeLessThan(10.1);
  });

  test('never falls below one call in twenty seconds', () => {
    let budget = startBudget(10, now);
    for (let i = 0; i < 50; i++) budget = afterThrottle(budget, null, 0, now + i * 60 * second);
    expect(budget.rate).toBe(1 / 20);
  });

  test('does not go up for answers to calls made before the throttle', () => {
    const throttled = afterThrottle(startBudget(10, now), now + 60 * second, 0, now);
    const after = afterAnswer(throttled, 'waiting', now + 30 * second);
    expect([after.rate, after.not_before]).toEqual([throttled.rate, throttled.not_before]);
  });
});

describe('what is stored', () => {
  const learned = afterThrottle(answered(startBudget(10, now), 60, now), now + 120 * second, 0, now + 61 * second);

  test('is read again as it was: the rate, the limit and the pause', () => {
    expect(storedBudget(JSON.parse(JSON.stringify(learned)))).toEqual(learned);
    expect(resumeBudget(learned, 20)).toEqual({ ...learned, ceiling: 20 });
    // A ceiling that was lowered since holds.
    expect(resumeBudget(learned, 4)).toMatchObject({ rate: 4, ceiling: 4 });
  });

  test('by a program that knew no limit begins without one', () => {
    const { limit: _, ...known } = learned;
    expect(storedBudget(known)).toEqual({ ...learned, limit: null });
  });

  test('of something else is nothing', () => {
    expect(storedBudget({})).toBe(null);
    expect(storedBudget(JSON.parse('{ "rate": "fast", "ceiling": 10, "not_before": 0 }'))).toBe(null);
    expect(storedBudget({ rate: -1, ceiling: 10, not_before: 0 })).toBe(null);
  });

  test('of a pause counts as told only where the service asked for it, and a pause without a connection is over', () => {
    expect(learned.told_until).toBe(learned.not_before);
    const own = afterThrottle(startBudget(10, now), null, 0, now);
    expect([own.told_until, resumeBudget(own, 10).not_before]).toEqual([0, own.not_before]);
    const missed = afterMiss(startBudget(10, now), 0, now);
    expect(resumeBudget(missed, 10)).toMatchObject({ not_before: 0, told_until: 0, unreachable_since: null });
    expect(resumeBudget(afterMiss(learned, 0, now + 200 * second), 10).not_before).toBe(learned.told_until);
  });
});

describe('the pause', () => {
  test.each([
    { said: 30 * second, left: 31.5 * second },
    { said: 3600 * second, left: 3645 * second },
  ])('lasts as long as the service said ($said ms), and up to a tenth or 90 s longer', ({ said, left }) => {
    const start = startBudget(10, now);
    expect(pauseLeft(afterThrottle(start, now + said, 0, now), now)).toBe(said);
    const longer = afterThrottle(start, now + said, 0.5, now);
    expect(pauseLeft(longer, now)).toBe(left);
    // A second answer of the same burst adds nothing to what the service said.
    expect(afterThrottle(longer, now + said, 0.5, now).told_until).toBe(now + said);
  });

  test('is an hour at most, whatever the service said', () => {
    expect(pauseLeft(afterThrottle(startBudget(10, now), now + 30 * day, 0, now), now)).toBe(3600 * second);
  });

  test('is at least one gap of the cut rate where the service said zero', () => {
    const budget = afterThrottle(startBudget(10, now), now, 0, now);
    expect(pauseLeft(budget, now)).toBeCloseTo(1000 / budget.rate, 1);
  });

  test('is half a second at first, and doubles from one second to a minute with each throttle that follows a pause', () => {
    let [budget, at] = [startBudget(10, now), now];
    const pauses = Array.from({ length: 8 }, () => {
      budget = afterThrottle(budget, null, 0, at);
      const left = pauseLeft(budget, at);
      at += left;
      return left / second;
    });
    expect(pauses).toEqual([0.5, 1, 2, 4, 8, 16, 32, 60]);
    expect(pauseLeft(afterThrottle(afterAnswer(budget, 'waiting', at), null, 0, at), at)).toBe(second);
  });

  test('is never shortened by a later throttle', () => {
    const long = afterThrottle(startBudget(10, now), now + 60 * second, 0, now);
    expect(pauseLeft(afterThrottle(long, now + second, 0, now), now)).toBe(60 * second);
  });

  test('without a connection doubles up to twenty seconds, and any answer ends the row', () => {
    let [budget, at] = [startBudget(10, now), now];
    const pauses = Array.from({ length: 9 }, () => {
      budget = afterMiss(budget, 0, at);
      const left = pauseLeft(budget, at);
      at += left;
      return left / second;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 20, 20, 20, 20]);
    expect(budget.unreachable_since).toBe(now);
    expect(afterAnswer(budget, 'waiting', at)).toMatchObject({ misses: 0, unreachable_since: null });
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
    expect(pauseLeft(afterAnswer(from2038, 'waiting', now), Date.UTC(2037, 11, 31, 23, 59))).toBe(0);
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
  if (outcome.kind === 'answer') return afterAnswer(budget, 'waiting', at);
  if (outcome.kind === 'miss') return afterMiss(budget, c, at);
  return afterThrottle(budget, outcome.wait === null ? null : at + outcome.wait, c, at);
}

describe('whatever happens, and however the clock jumps,', () => {
  const ceilings = fc.oneof(fc.double({ min: 0.001, max: 20, noNaN: true }), fc.integer({ min: 20, max: 100_000 }));

  test('the rate stays between the floor and the ceiling, and no pause is longer than an hour and 90 s', () => {
    fc.assert(
      fc.property(ceilings, fc.array(happening, { maxLength: 200 }), (ceiling, happenings) => {
        let [budget, at] = [startBudget(ceiling, now), now];
        for (const each of happenings) {
          at += each.after;
          budget = apply(budget, each, at);
          expect(budget.rate).toBeGreaterThanOrEqual(Math.min(0.05, ceiling));
          expect(budget.rate).toBeLessThanOrEqual(ceiling);
          expect(pauseLeft(budget, at)).toBeLessThanOrEqual(3690 * second);
        }
      }),
    );
  });

  test('nothing freezes: after an hour and 90 s and clean answers the rate is back at the ceiling', () => {
    fc.assert(
      fc.property(ceilings, fc.array(happening, { maxLength: 50 }), (ceiling, happenings) => {
        let [budget, at] = [startBudget(ceiling, now), now];
        for (const each of happenings) {
          at += each.after;
          budget = apply(budget, each, at);
        }
        at += 3690 * second + 1;
        for (let i = 0; i < 800; i++) budget = afterAnswer(budget, 'waiting', at + i * 10 * second);
        expect(budget.rate).toBe(ceiling);
        expect(pauseLeft(budget, at)).toBe(0);
      }),
    );
  });
});

describe('a turn', () => {
  const budgetOf = (rate: number) => ({ ...startBudget(rate, now), rate });

  test('comes alone at ten calls a second or fewer', () => {
    expect(burst(budgetOf(10), 4)).toBe(1);
    expect(burst(budgetOf(0.05), 4)).toBe(1);
  });

  test('comes with at most as many others as can be in flight', () => {
    expect(burst(budgetOf(20), 4)).toBe(2);
    expect(burst(budgetOf(100_000), 4)).toBe(4);
  });

  test('in any second at most the rate and one burst of them come, however the demand comes', () => {
    const rates = fc.double({ min: 0.5, max: 200, noNaN: true });
    const gaps = fc.array(fc.double({ min: 0, max: 300, noNaN: true }), { minLength: 50, maxLength: 400 });
    fc.assert(
      fc.property(rates, fc.integer({ min: 1, max: 64 }), gaps, (rate, concurrency, demand) => {
        const budget = budgetOf(rate);
        let [due, at] = [Number.NEGATIVE_INFINITY, 0];
        const starts = demand.map((gap) => {
          at += gap;
          at += turnIn(budget, concurrency, due, at);
          due = dueAfter(budget, due, at);
          return at;
        });
        for (const [i, from] of starts.entries()) {
          const within = starts.slice(i).filter((start) => start < from + second).length;
          expect(within).toBeLessThanOrEqual(rate + burst(budget, concurrency) + 1e-6);
        }
      }),
    );
  });
});
