import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answeredSpan, leftOf, wholeWeeksAround } from '../../src/dates/window-requests.rules.ts';
import type { Dates } from '../../src/kernel/time/venue.ts';
import { addDays, datesBetween, daysBetween, weekdayOf } from '../../src/kernel/time/venue.ts';

const origin = '2026-11-21';
const day = (offset: number) => addDays(origin, offset);
const asked = { from: day(10), to: day(40) };

/** What is covered by an answer that names these days, counted from the origin. */
function span(offsets: number[], { covered_to = 40, trust = 'as-asked' as const } = {}) {
  const dates = offsets.map(day).sort();
  const named = dates.length === 0 ? null : { from: dates[0] ?? '', to: dates.at(-1) ?? '' };
  const inside = dates.filter((date) => date >= asked.from && date <= asked.to);
  const days = new Map(inside.map((date) => [date, [1, null, []] as const]));
  const found = answeredSpan(asked, { named, covered_to: day(covered_to), days }, trust);
  return found === null ? null : [daysBetween(origin, found.from), daysBetween(origin, found.to)];
}

describe('the dates that an answer speaks of', () => {
  it.each<[string, number[], { covered_to?: number }, number[] | null]>([
    ['none named: all that were asked for', [], {}, [10, 40]],
    ['only dates that were asked for: all of these', [15, 20], {}, [10, 40]],
    ['capped: up to there', [15, 20], { covered_to: 25 }, [10, 25]],
    ['some before: from the first asked for to its own last', [3, 15, 20], {}, [10, 20]],
    ['some after: from its own first on', [15, 41], {}, [15, 40]],
    ['both: all', [9, 15, 41], {}, [10, 40]],
    ['some after, and capped: no further than that', [15, 41], { covered_to: 30 }, [15, 30]],
    ['only others: none', [0, 1, 9], {}, null],
    ['others on both sides and none between: none', [9, 41], {}, null],
    ['those of another year: none', [410, 440], {}, null],
  ])('%s', (_, offsets, more, expected) => {
    expect(span(offsets, more)).toEqual(expected);
  });

  it('(none named, of a service that was caught at it): none', () => {
    expect(answeredSpan(asked, { named: null, covered_to: asked.to, days: new Map() }, 'own-dates-only')).toBeNull();
  });

  it('and what is left of those that were asked for are all of them, once', () => {
    const offset = fc.integer({ min: 0, max: 60 });
    fc.assert(
      fc.property(offset, offset, offset, offset, (a, b, c, d) => {
        const all: Dates = { from: day(Math.min(a, b)), to: day(Math.max(a, b)) };
        const part = { from: day(Math.min(a, b) + Math.min(c, Math.abs(a - b))), to: all.to };
        const left = leftOf(all, d % 7 === 0 ? null : part);
        const answered = d % 7 === 0 ? [] : datesBetween(part.from, part.to);
        const dates = [...left.flatMap(({ from, to }) => datesBetween(from, to)), ...answered].sort();
        expect(dates).toEqual(datesBetween(all.from, all.to));
      }),
    );
  });
});

describe('what an answer left out is asked for', () => {
  it('by whole weeks from a Monday on, never before this week, within the limit of a request, and reaches what is left', () => {
    const offset = fc.integer({ min: 0, max: 90 });
    fc.assert(
      fc.property(offset, fc.integer({ min: 0, max: 30 }), fc.integer({ min: 7, max: 40 }), (first, more, most) => {
        const left = { from: day(first), to: day(first + more) };
        const { from, to } = wholeWeeksAround(left, origin, most);
        expect([weekdayOf(from), weekdayOf(to)]).toEqual([0, 6]);
        expect(daysBetween(from, to)).toBeLessThan(most);
        expect(from >= addDays(origin, -6)).toBe(true);
        expect(from <= left.from && to >= left.from).toBe(true);
      }),
    );
  });

  it('as it is, where a request holds less than a week', () => {
    expect(wholeWeeksAround({ from: day(3), to: day(9) }, origin, 3)).toEqual({ from: day(3), to: day(5) });
  });
});
