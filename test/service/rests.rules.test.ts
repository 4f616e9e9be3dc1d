import { describe, expect, test } from 'vitest';
import { type Budget, resumeBudget, startBudget, storedBudget } from '../../src/service/budget.rules.ts';
import { afterAnswer, afterThrottle, isCrowd } from '../../src/service/outcomes.rules.ts';
import {
  afterAnsweredTry,
  afterOwnThrottle,
  afterRest,
  afterThrottledTry,
  doubted,
  doubtOf,
  mayTry,
  restOf,
  tryBegins,
  wasTry,
} from '../../src/service/rests.rules.ts';

const now = Date.UTC(2026, 10, 21);
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const path = '/v2/products/{product_id}/availability';
const fresh = startBudget(50, now);

/** Returns the budget after a 429 about product 1 that asks for an hour. */
function asked(ms = hour): Budget {
  const rested = afterOwnThrottle(fresh, 1, { until: now + ms, throttled: 'few' }, 0, now, now);
  return doubted(rested, afterThrottle(rested, now + ms, 0, now), path, now);
}

describe('a pause that a 429 asks for', () => {
  test('of an hour binds everybody for a minute, and its own product to its end', () => {
    const budget = asked();
    expect(budget).toMatchObject({ not_before: now + minute, told_until: now + hour });
    expect(doubtOf(budget, now)).toEqual({ path, tries: 0, tried_at: 0 });
    expect(restOf(budget, 1, now + hour - 1)).toMatchObject({ times: 1, alone: 0 });
    expect([restOf(budget, 2, now), restOf(budget, null, now), restOf(budget, 1, now + hour)]).toEqual([
      null,
      null,
      null,
    ]);
  });

  test('of a minute or less binds everybody to its end, and nobody finds out', () => {
    const budget = asked(minute);
    expect(budget).toMatchObject({ not_before: now + minute, told_until: now + minute, doubt: null });
  });

  test('is tried by the same path at first, and half a minute later by any other call', () => {
    const budget = asked();
    const doubt = doubtOf(budget, now);
    if (doubt === null) throw new Error('there is no doubt');
    const may = (by: string | null, at: number) => mayTry(budget, doubt, by, at);
    expect([may(path, now + minute), may('/v2/products', now + minute)]).toEqual([true, false]);
    expect([may('/v2/products', now + 1.5 * minute), may(null, now + 1.5 * minute)]).toEqual([true, true]);
    expect(mayTry(budget, { ...doubt, path: '/v2/products' }, path, now + minute)).toBe(true);
  });

  test('that binds everybody is tried after 1, 3, 7 and 15 minutes, then every 15', () => {
    let budget = asked();
    const tried: number[] = [];
    for (let at = budget.not_before; at < now + hour; at = budget.not_before) {
      tried.push((at - now) / minute);
      budget = tryBegins(budget, at);
      expect(wasTry(budget, at + 50, at)).toBe(true);
      budget = afterThrottledTry(budget, null, path, at + 50);
    }
    expect(tried).toEqual([1, 3, 7, 15, 30, 45]);
    expect(budget.not_before).toBe(now + hour);
    expect(budget.rate).toBe(asked().rate);
  });

  test('ends for everybody with the first try that is answered: what asked for it rests alone', () => {
    const at = now + minute;
    const budget = afterAnsweredTry(tryBegins(asked(), at), at + 50);
    expect(budget).toMatchObject({ not_before: 0, told_until: 0, doubt: null });
    expect(restOf(budget, 1, at)).toEqual({ subject: 1, times: 1, since: now, until: now + hour, alone: 1 });
  });

  test('does not end with an answer to a call that was under way before it', () => {
    const budget = asked();
    const late = afterAnswer(budget, 'waiting', now + 2 * minute, now - 1);
    expect(late).toMatchObject({ not_before: budget.not_before, told_until: now + hour });
    const tried = tryBegins(budget, now + minute);
    expect(wasTry(tried, now + 2 * minute, now - 1)).toBe(false);
    expect(afterRest(tried, 1, now - 1)).toBe(tried);
  });

  test('is the account’s where maintenance asks for it, also of a try: nobody finds out', () => {
    const after = afterThrottle(fresh, now + hour, 0, now);
    expect(doubted(fresh, after, null, now)).toMatchObject({
      not_before: now + hour,
      told_until: now + hour,
      doubt: null,
    });
    const tried = tryBegins(asked(10 * minute), now + minute);
    const closed = afterThrottledTry(tried, now + hour, null, now + minute);
    expect(closed).toMatchObject({ not_before: now + hour, told_until: now + hour });
  });

  test('of an earlier one that is over shows nothing of a later one', () => {
    const tried = tryBegins(asked(), now + minute);
    const later = now + 2 * hour;
    const closed = doubted(tried, afterThrottle(tried, later + hour, 0, later), null, later);
    expect(closed).toMatchObject({ doubt: null, not_before: later + hour });
    expect(wasTry(closed, later + 1, later)).toBe(false);
  });

  test('goes on after a restart, from what was stored', () => {
    const stored = storedBudget(JSON.parse(JSON.stringify(tryBegins(asked(), now + minute))));
    if (stored === null) throw new Error('nothing was stored');
    const resumed = resumeBudget({ ...stored, unreachable_since: now }, 50);
    expect(resumed).toMatchObject({ not_before: now + 3 * minute, told_until: now + hour, doubt: { tries: 1 } });
    expect(restOf(resumed, 1, now + 2 * minute)).not.toBe(null);
  });
});

describe('what is throttled again and again', () => {
  /** Throttles of one product, each as soon as it may be asked again, while others are answered or not. */
  function again(
    times: number,
    others: 'answered' | 'waiting' | 'throttled',
    until: (at: number) => number | null = () => null,
  ) {
    let [budget, at] = [fresh, now];
    const rests: number[] = [];
    for (let each = 0; each < times; each += 1) {
      if (others === 'answered') budget = afterAnswer(budget, 'waiting', at - second, at - second);
      const throttled = others === 'throttled' ? 'many' : 'few';
      budget = afterOwnThrottle(budget, 1, { until: until(at), throttled }, 0, at, at);
      const rest = budget.resting[0];
      if (rest === undefined) throw new Error('it does not rest');
      rests.push((rest.until - at) / second);
      at = rest.until;
    }
    return { rests, alone: budget.resting[0]?.alone, budget, at };
  }

  test('rests for 2 and 16 seconds, 2 minutes, then 15, or for as long as the service asks', () => {
    expect(again(6, 'answered').rests).toEqual([2, 16, 128, 900, 900, 900]);
    expect(again(4, 'answered', (at) => at + 30 * second).rests).toEqual([30, 30, 128, 900]);
  });

  test('is throttled by itself from the third time on while others are answered, and never where they are not', () => {
    expect([again(2, 'answered').alone, again(3, 'answered').alone]).toEqual([0, 1]);
    expect([again(9, 'throttled').alone, again(9, 'waiting').alone]).toEqual([0, 0]);
  });

  test('counts calls that were under way together as one', () => {
    let budget = fresh;
    for (const after of [0, 5, 9])
      budget = afterOwnThrottle(budget, 1, { until: null, throttled: 'few' }, 0, now + after, now - 50);
    expect(budget.resting).toEqual([{ subject: 1, times: 1, since: now, until: now + 9 + 2 * second, alone: 0 }]);
  });

  test('begins anew once it was answered', () => {
    const { budget, at } = again(5, 'answered');
    expect(afterRest(budget, 1, at).resting).toEqual([]);
    expect(afterRest(budget, 2, at)).toBe(budget);
  });

  test('is the account’s where a fifth of the last calls were throttled', () => {
    let many = afterThrottle(fresh, null, 0, now);
    expect([isCrowd(fresh), isCrowd(many)]).toEqual([false, false]);
    for (let each = 0; each < 5; each += 1) many = afterThrottle(many, null, 0, now + each);
    expect(isCrowd(many)).toBe(true);
  });

  test('takes little space: only those are known whose rest ends last', () => {
    let budget = fresh;
    for (let product = 1; product <= 150; product += 1)
      budget = afterOwnThrottle(budget, product, { until: null, throttled: 'few' }, 0, now + product, now + product);
    expect(budget.resting.map(({ subject }) => subject)).toEqual(
      Array.from({ length: 100 }, (_, index) => 150 - index),
    );
  });
});
