import { describe, expect, it } from 'vitest';
import { sequence } from '../../src/sandbox/random.ts';
import { startBudget } from '../../src/service/budget.rules.ts';
import { type Audited, drawAudits, findingsOf, mayAudit, outdatedShare } from '../../src/trust/error-estimate.rules.ts';
import { tiers } from '../dates/usual-tiers.ts';

const hour = 3_600_000;

/** Four periods a day for a week, each with so many reads of a world of which a share, its own each time, is outdated. */
function week(reads: number, share: () => number, chance: () => number): Audited[] {
  return Array.from({ length: 28 }, () => {
    const own = share();
    return { audited: reads, outdated: Array.from({ length: reads }, chance).filter((each) => each < own).length };
  });
}

/** Returns how many of a hundred weeks have the true share within the margin. */
function covered(reads: number, truth: number, share: (chance: () => number) => number): number {
  const chance = sequence(7);
  const weeks = Array.from({ length: 100 }, () => outdatedShare(week(reads, () => share(chance), chance)));
  return weeks.filter((each) => each.share !== null && Math.abs(each.share - truth) <= (each.margin ?? 0)).length;
}

describe('the share of what shoppers see that is outdated', () => {
  it.each([
    [540, 0.015],
    [60, 0.05],
    [4, 0.015],
    [2, 0.1],
  ])('lies within its margin in nine weeks of ten, of %i reads in six hours with %d outdated', (reads, truth) => {
    expect(covered(reads, truth, () => truth)).toBeGreaterThanOrEqual(90);
  });

  it('lies within its margin where everything changes together, which the interval of independent reads does not tell', () => {
    const together = (chance: () => number) => (chance() < 0.1 ? 0.2 : 0.01);
    expect(covered(200, 0.029, together)).toBeGreaterThanOrEqual(85);
    const one = week(200, () => together(sequence(3)), sequence(3));
    const [sum] = [
      one.reduce((all, each) => ({ audited: all.audited + each.audited, outdated: all.outdated + each.outdated })),
    ];
    expect(outdatedShare([sum]).margin).toBeLessThan(0.01);
  });

  it('is not told from too few reads, and nothing found among few is not "0 % for certain"', () => {
    expect(outdatedShare([])).toEqual({ audited: 0, outdated: 0, share: null, margin: null });
    expect(outdatedShare([{ audited: 29, outdated: 0 }]).share).toBeNull();
    const few = outdatedShare([{ audited: 30, outdated: 0 }]);
    expect(few.share).toBe(0);
    expect(few.margin).toBeGreaterThan(0.1);
    expect(outdatedShare([{ audited: 30, outdated: 30 }]).margin).toBeGreaterThan(0.1);
  });
});

describe('records read at random', () => {
  const drawn = (weights: readonly number[], reads: number, total = weights.reduce((sum, each) => sum + each, 0)) => {
    const { next } = drawAudits({ from: 100 * hour, to: 106 * hour, reads, total }, sequence(11));
    return weights.map(next);
  };

  it('are drawn as often as they weigh, about so many as wanted, and evenly over the time', () => {
    const of = drawn([1, 9, 0, 90], 10_000);
    expect(of.map(({ length }) => Math.round(length / 1000))).toEqual([0, 1, 0, 9]);
    const instants = of.flat();
    expect(Math.min(...instants)).toBeGreaterThanOrEqual(100 * hour);
    expect(Math.max(...instants)).toBeLessThan(106 * hour);
    const firstHour = instants.filter((at) => at < 101 * hour).length;
    expect(firstHour / instants.length).toBeCloseTo(1 / 6, 1);
  });

  it('are none where nothing is shown or no read is wanted, and all of one product where it has all the demand', () => {
    expect(drawn([], 100)).toEqual([]);
    expect(drawn([1, 1], 0)).toEqual([[], []]);
    expect(drawn([0, 5], 100)[0]).toEqual([]);
    expect(drawn([0, 5], 100)[1]?.length).toBeGreaterThan(60);
  });

  it.each([
    ['nobody is pressed', {}, true],
    ['the service pushed back half an hour ago', { pressed_at: 9.5 * hour }, false],
    ['it pushed back two hours ago', { pressed_at: 8 * hour }, true],
    ['a wrong clock noted it in the future', { pressed_at: 20 * hour }, true],
    ['calls pause', { not_before: 11 * hour }, false],
    ['the service is away', { unreachable_since: 9 * hour }, false],
  ])('are made or left out: %s', (_, some, may) => {
    expect(mayAudit({ ...startBudget(10, 0), ...some }, 10 * hour)).toBe(may);
  });
});

describe('what a random read shows', () => {
  const found = (first_day: number, last_day: number, days: readonly number[] | 'all') =>
    findingsOf({ part: 0, first_day, last_day, every: hour }, tiers, days).map(
      ({ tier, outdated }) => `${tier} ${outdated}`,
    );

  it.each([
    ['nothing was outdated', 0, 30, [], ['all 0', 'near 0', 'middle 0']],
    ['a date of the middle tier', 0, 30, [20, 21], ['all 1', 'near 0', 'middle 1']],
    ['dates of both', 0, 30, [0, 30], ['all 1', 'near 1', 'middle 1']],
    ['a far date', 31, 61, [40], ['all 1', 'far 1']],
    ['it is not sold', 0, 30, 'all', ['all 1', 'near 1', 'middle 1']],
  ] as const)('counts for the window and each tier of it: %s', (_, first, last, days, counts) => {
    expect(found(first, last, days)).toEqual(counts);
  });
});
