import { describe, expect, it } from 'vitest';
import { roll } from '../../src/sandbox/random.ts';
import { areTelling, priorSiblings, Siblings } from '../../src/schedule/siblings.rules.ts';
import type { SignalBelief } from '../../src/schedule/signal.rules.ts';

const minute = 60_000;
const hour = 60 * minute;
const shared: SignalBelief = { rightly: 90, wrongly: 10, shown: 30, hidden: 70 };
const otherwise = 0.03;

/** A venue whose product was read at 10 and 12 o'clock, and had changed; others were last read at these instants. */
function suspected(others: readonly number[], belief = shared) {
  const siblings = new Siblings(0);
  siblings.afterRead('venue', { before_at: 10 * hour, at: 12 * hour, changed: true, otherwise }, () => others, belief);
  return siblings;
}

function read(siblings: Siblings, before_at: number, at: number, changed: boolean, belief = shared) {
  return siblings.afterRead('venue', { before_at, at, changed, otherwise }, () => [before_at], belief);
}

/** Returns what is learned of ten products that are read every hour, where shared and other changes come so often. */
function learned({ together, alone, hours }: { together: number; alone: number; hours: number }) {
  const siblings = new Siblings(0);
  let belief = priorSiblings;
  for (let at = 1; at <= hours; at += 1) {
    const all = roll(1, at, 'all') < together;
    for (let id = 0; id < 10; id += 1) {
      const changed = all || roll(1, at, id) < alone;
      const now = at * hour + id * minute;
      const others = () =>
        Array.from({ length: 10 }, (_, other) => now + (other - id - (other < id ? 0 : 60)) * minute);
      const one = { before_at: now - hour, at: now, changed, otherwise: alone };
      belief = siblings.afterRead('venue', one, others, belief).belief;
    }
  }
  return belief;
}

describe('a suspicion that siblings changed together', () => {
  it('begins with a change of one, and concerns only what was read before it', () => {
    const siblings = suspected([9 * hour]);
    const [before, half, after] = [9, 11, 12].map((at) => siblings.jump('venue', at * hour, shared));
    expect(before).toBeCloseTo(0.27);
    expect(half).toBeCloseTo(0.135);
    expect(after).toBe(0);
    expect(siblings.jump('another venue', 9 * hour, shared)).toBe(0);
  });

  it('is confirmed by a second change, and refuted by a sibling that has not changed', () => {
    const [confirmed, refuted] = [suspected([9 * hour]), suspected([9 * hour])];
    const found = read(confirmed, 9 * hour, 12.1 * hour, true);
    read(refuted, 9 * hour, 12.1 * hour, false);
    expect(found.shared).toBeGreaterThan(0.9);
    expect(confirmed.jump('venue', 9 * hour, shared)).toBeGreaterThan(0.8);
    expect(refuted.jump('venue', 9 * hour, shared)).toBeLessThan(0.05);
  });

  it('is smaller where siblings were read in between, and had not changed', () => {
    const quiet = suspected([11.9 * hour, 11.95 * hour]);
    expect(quiet.jump('venue', 9 * hour, shared)).toBeLessThan(0.03);
  });

  it('is over after a day, and a product without siblings raises none', () => {
    const siblings = suspected([9 * hour]);
    const { belief } = read(siblings, 36 * hour, 37 * hour, false);
    expect(siblings.areQuiet()).toBe(true);
    expect(belief.shown + belief.hidden).toBe(101);
    expect(suspected([]).areQuiet()).toBe(true);
  });

  it('is none where changes are hardly ever shared', () => {
    const rarely = { rightly: 90, wrongly: 10, shown: 2, hidden: 98 };
    const siblings = suspected([9 * hour], rarely);
    expect(siblings.jump('venue', 9 * hour, rarely)).toBe(0);
    expect(read(siblings, 9 * hour, 12.1 * hour, true, rarely).shared).toBe(0);
  });
});

describe('what is learned of siblings', () => {
  it('is the share of changes that all of them have, from reads alone', () => {
    const { rightly, wrongly, shown, hidden } = learned({ together: 0.01, alone: 0.03, hours: 1500 });
    expect(shown / (shown + hidden)).toBeGreaterThan(0.15);
    expect(shown / (shown + hidden)).toBeLessThan(0.35);
    expect(rightly / (rightly + wrongly)).toBeGreaterThan(0.9);
  });

  it('is that nothing is shared where all change alone', () => {
    expect(areTelling(learned({ together: 0, alone: 0.04, hours: 1500 }))).toBe(false);
  });
});
