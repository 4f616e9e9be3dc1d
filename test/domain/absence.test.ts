import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type DirectAnswer,
  judgeList,
  listsApartMs,
  mostMissing,
  mustBeAsked,
  withdrawal,
} from '../../src/domain/absence.ts';
import { roll } from '../../src/sandbox/random.ts';

const absent = (missing_walks: number, answer: DirectAnswer | null) => ({ missing_walks, answer, release: null });
const limits = { hold_share: 0.1, hold_count: 5 };

describe('a product that the list lacks', () => {
  it.each([
    ['once, unasked', absent(1, null), null],
    ['twice, unasked', absent(2, null), null],
    ['ten times, and its own read has data', absent(10, 'there'), null],
    ['once, and its own read answers 404', absent(1, 'gone'), null],
    ['twice, and its own read answers 404', absent(2, 'gone'), 'missing from two lists, and its own read answers 404'],
    ['never, and its own read answers 410', absent(0, 'permanently-gone'), null],
    [
      'once, and its own read answers 410',
      absent(1, 'permanently-gone'),
      'missing from the list, and its own read answers 410',
    ],
  ] as const)('(%s) is withdrawn or not', (_, facts, expected) => {
    expect(withdrawal(facts, 'free')).toBe(expected);
    expect(withdrawal(facts, 'held')).toBe(null);
  });

  it('stays while removals are held, unless three lists or a person let it go', () => {
    expect(withdrawal({ ...absent(3, 'gone'), release: 'agreed' }, 'held')).not.toBe(null);
    expect(withdrawal({ ...absent(3, null), release: 'agreed' }, 'held')).toBe(null);
    expect(withdrawal({ ...absent(1, null), release: 'approved' }, 'held')).toBe('approved by an operator');
  });

  it('is asked for by its own read after two lists, and again while it answers with data', () => {
    const facts = [absent(1, null), absent(2, null), absent(3, 'there'), absent(3, 'gone')];
    expect(mustBeAsked(facts, 'free')).toEqual([facts[1], facts[2]]);
    // While removals are held, those that contradict the lists come first.
    expect(mustBeAsked(facts, 'held')).toEqual([facts[2], facts[0], facts[1]]);
    expect(
      mustBeAsked(
        Array.from({ length: 50 }, () => absent(1, null)),
        'held',
      ),
    ).toHaveLength(20);
  });
});

describe('a complete list', () => {
  it.each([
    ['that is empty is held', { rows: 0, visible: 100, missing: 100, lists: 1, there: 0 }, 'hold'],
    ['that lacks nothing is plausible', { rows: 100, visible: 100, missing: 0, lists: 0, there: 0 }, 'plausible'],
    ['that lacks five of twenty is plausible', { rows: 15, visible: 20, missing: 5, lists: 1, there: 0 }, 'plausible'],
    ['that lacks six of twenty is held', { rows: 14, visible: 20, missing: 6, lists: 1, there: 0 }, 'hold'],
    [
      'that lacks a tenth of a thousand is plausible',
      { rows: 900, visible: 1000, missing: 100, lists: 1, there: 0 },
      'plausible',
    ],
    ['that lacks a little more is held', { rows: 899, visible: 1000, missing: 101, lists: 2, there: 0 }, 'hold'],
    [
      'that is the third to agree ends the hold',
      { rows: 400, visible: 1000, missing: 600, lists: 3, there: 0 },
      'agreed',
    ],
    ['that a single read contradicts does not', { rows: 400, visible: 1000, missing: 600, lists: 9, there: 1 }, 'hold'],
  ] as const)('%s', (_, facts, expected) => {
    expect(judgeList(facts, limits)).toBe(expected);
  });

  it('is never believed at once when more are missing than may be', () => {
    fc.assert(
      fc.property(fc.nat(10_000), fc.nat(10_000), (visible, missing) => {
        fc.pre(missing <= visible && missing > mostMissing(visible, limits));
        for (const lists of [1, 2])
          expect(judgeList({ rows: visible - missing, visible, missing, lists, there: 0 }, limits)).toBe('hold');
      }),
    );
  });
});

/** The rules over a world of lists that lie: what a mirror would withdraw, and what was really gone. */
function live(seed: number, rule: 'ours' | 'believes every list'): { wrong: number; right: number; left: number } {
  const products = 40 + Math.floor(roll(seed, 'size') * 200);
  const gone = new Set<number>();
  const withdrawn = new Set<number>();
  const absence = new Map<number, { missing_walks: number; answer: DirectAnswer | null; release: 'agreed' | null }>();
  let hold: number | null = null;
  let wrong = 0;
  const go = (id: number) => {
    withdrawn.add(id);
    absence.delete(id);
    if (!gone.has(id)) wrong += 1;
  };
  for (let walk = 0; walk < 14; walk += 1) {
    const chance = (what: string) => roll(seed, walk, what);
    if (walk < 9 && chance('removal') < 0.4)
      for (let id = 0; id < products; id += 1)
        if (roll(seed, walk, id, 'gone') < (chance('mass') < 0.15 ? 0.6 : 0.02)) gone.add(id);
    // The last walks are honest, so that everything can come out.
    const kind =
      walk >= 9
        ? 'honest'
        : (['honest', 'empty', 'halved', 'drifted', 'page missing'] as const)[Math.floor(chance('kind') * 5)];
    const shown = Array.from({ length: products }, (_, id) => id).filter((id) => {
      if (gone.has(id) || kind === 'empty') return false;
      if (kind === 'halved') return id % 2 === 0;
      if (kind === 'page missing') return Math.floor(id / 20) !== walk % 5;
      return !(kind === 'drifted' && roll(seed, walk, id, 'drift') < 0.03);
    });
    const complete = kind !== 'drifted' || rule !== 'ours';
    if (!complete) continue;
    const missing = Array.from({ length: products }, (_, id) => id).filter(
      (id) => !withdrawn.has(id) && !shown.includes(id),
    );
    if (rule !== 'ours') {
      for (const id of missing) go(id);
      continue;
    }
    for (const id of shown) absence.delete(id);
    for (const id of missing)
      absence.set(id, {
        answer: null,
        release: null,
        ...absence.get(id),
        missing_walks: (absence.get(id)?.missing_walks ?? 0) + 1,
      });
    const unreleased = missing.filter((id) => absence.get(id)?.release === null);
    const there = unreleased.filter((id) => absence.get(id)?.answer === 'there').length;
    const lists: number = hold === null ? 1 : hold + 1;
    const verdict = judgeList(
      { rows: shown.length, visible: products - withdrawn.size, missing: unreleased.length, lists, there },
      limits,
    );
    hold = verdict === 'hold' ? lists : null;
    if (verdict === 'agreed')
      for (const facts of absence.values()) if (facts.missing_walks >= 3) facts.release = 'agreed';
    const asked = mustBeAsked(
      missing.map((id) => ({ id, ...(absence.get(id) ?? absent(0, null)) })),
      hold === null ? 'free' : 'held',
    );
    for (const { id } of asked) {
      const facts = absence.get(id);
      // A read of its own fails now and then, and then says nothing.
      if (facts !== undefined && roll(seed, walk, id, 'read fails') > 0.2)
        facts.answer = gone.has(id) ? 'gone' : 'there';
    }
    for (const [id, facts] of [...absence]) if (withdrawal(facts, hold === null ? 'free' : 'held') !== null) go(id);
  }
  return { wrong, right: withdrawn.size - wrong, left: [...gone].filter((id) => !withdrawn.has(id)).length };
}

it('in 500 worlds whose lists come back empty, halved, drifted or short nothing is withdrawn wrongly, and what is gone goes', () => {
  const sum = { wrong: 0, right: 0, left: 0 };
  const control = { wrong: 0 };
  for (let seed = 0; seed < 500; seed += 1) {
    const found = live(seed, 'ours');
    for (const key of ['wrong', 'right', 'left'] as const) sum[key] += found[key];
    control.wrong += live(seed, 'believes every list').wrong;
  }
  process.stdout.write(
    `500 worlds: ${sum.wrong} wrong removals, ${sum.right} right ones, ${sum.left} still doubted; control (no guard): ${control.wrong} wrong\n`,
  );
  expect(sum.wrong).toBe(0);
  expect(sum.right).toBeGreaterThan(5000);
  expect(sum.left / (sum.right + sum.left)).toBeLessThan(0.05);
  expect(control.wrong).toBeGreaterThan(1000);
});

it('two walks in the same half hour are no two witnesses', () => {
  expect(listsApartMs).toBe(30 * 60 * 1000);
});
