import { describe, expect, it } from 'vitest';
import { type Budget, startBudget } from '../../src/service/budget.rules.ts';
import { extraCalls, limitsAfterPressure } from '../../src/service/extra-calls.rules.ts';
import { afterAnswer, afterThrottle } from '../../src/service/outcomes.rules.ts';

const hour = 3_600_000;
const now = Date.parse('2026-10-10T12:00:00Z');
const limits = { share: 0.25, times: 5 };
const pressed = (pressed_at: number) => ({ ...startBudget(10, now), pressed_at });

describe('extra calls', () => {
  it('fill up what the promises need to a share of the rate, or so many times what they need, whichever is less', () => {
    expect(extraCalls(limits, 0.6, 10)).toBeCloseTo(1.9, 9);
    expect(extraCalls(limits, 0.1, 10)).toBeCloseTo(0.4, 9);
  });

  it('are none where the promises need more than the share, and none where the share is 0', () => {
    expect(extraCalls(limits, 3, 10)).toBe(0);
    expect(extraCalls({ share: 0, times: 5 }, 0.1, 10)).toBe(0);
    expect(extraCalls({ share: 1, times: 1 }, 0.1, 10)).toBe(0);
  });

  it('are none after back-pressure, and are doubled with each hour without more of it', () => {
    const times = [0, 0.9, 1, 2, 2.5, 3, 48].map(
      (hours) => limitsAfterPressure(limits, pressed(now), now + hours * hour).times,
    );
    expect(times).toEqual([1, 1, 2, 4, 4, 5, 5]);
  });

  it('are not held back by an instant that a wrong clock wrote', () => {
    expect(limitsAfterPressure(limits, pressed(now + hour), now)).toEqual(limits);
    expect(limitsAfterPressure(limits, pressed(0), now)).toEqual(limits);
  });
});

describe('back-pressure', () => {
  /** A call every 100 ms; `throttled` tells which of them the service refuses. */
  function outcomes(calls: number, throttled: (call: number) => boolean): Budget {
    let budget = startBudget(10, now);
    for (let call = 0; call < calls; call += 1) {
      const at = Math.max(now + call * 100, budget.not_before + 1);
      budget = throttled(call) ? afterThrottle(budget, null, 0, at) : afterAnswer(budget, 'none', at);
    }
    return budget;
  }

  it('is a throttle that comes with others, not a stray one', () => {
    expect(outcomes(2_000, () => false).pressed_at).toBe(0);
    expect(outcomes(2_000, (call) => call === 700).pressed_at).toBe(0);
    expect(outcomes(2_000, (call) => call >= 1_000 && call < 1_040).pressed_at).toBeGreaterThan(now);
  });
});
