import { describe, expect, it } from 'vitest';
import { roll } from '../../src/sandbox/random.ts';
import { limitOf, marksOf, type Said } from '../../src/trust/claims.rules.ts';
import { type CountedAnswer, Wave, type WaveRule } from '../../src/trust/wave.rules.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const limit = 5;

/** Answers that lose dates, with the number of dates shown and answered; `item` is their position. */
type Answer = readonly [shown: number, said: number, mark?: string];

/** Returns the position at which answers become a wave, and the items of that wave; null: they never do. */
function found(rule: WaveRule, answers: readonly Answer[], apart_ms = 1000, most = limit, records = answers.length) {
  const wave = new Wave<number>();
  for (const [index, [shown, said, mark]] of answers.entries()) {
    const marks = mark === undefined ? [] : [{ name: mark, ...rule }];
    const answer: CountedAnswer<number> = {
      record: String(index % records),
      marks,
      changed: shown !== said,
      shown,
      said,
      at: noon + index * apart_ms,
      item: index,
    };
    const result = wave.note(answer, () => most);
    if (result !== null) return { at: index, ...result };
  }
  return null;
}

const times = (count: number, ...some: readonly Answer[]) => Array.from({ length: count }, () => some).flat();
const amount: WaveRule = { of: 'amount', share: 0.75 };
const answers: WaveRule = { of: 'answers', share: 0.8 };
const changes: WaveRule = { of: 'changes', share: 0.6 };

const lost: Answer = [30, 3, 'lost'];
const kept: Answer = [30, 30];

describe('a wave', () => {
  it('is found with as many changes as the limit, and names the earlier ones', () => {
    expect(found(amount, times(9, lost))).toEqual({ at: 4, mark: 'lost', earlier: [0, 1, 2, 3] });
  });

  it('is found just as soon after any number of ordinary answers', () => {
    expect(found(amount, [...times(900, kept), ...times(9, lost)])).toMatchObject({
      at: 904,
      earlier: [900, 901, 902, 903],
    });
  });

  it.each<[string, WaveRule, Answer[], boolean]>([
    ['fewer changes than the limit', amount, times(4, lost), false],
    ['losses among answers that lose nothing', amount, times(9, lost, kept, kept, kept, kept), false],
    ['losses in every other answer', amount, times(9, lost, kept), true],
    [
      'four of five answers that change alike',
      answers,
      times(9, [9, 5, 'x'], [9, 5, 'x'], [9, 5, 'x'], [9, 5, 'x'], [9, 9]),
      true,
    ],
    ['two of three answers that change alike', answers, times(9, [9, 5, 'x'], [9, 5, 'x'], [9, 9]), false],
    [
      'changes to values of their own',
      changes,
      Array.from({ length: 40 }, (_, index): Answer => [1, 0, `v${index}`]),
      false,
    ],
    ['changes to one value among answers that do not change', changes, times(9, [1, 0, 'v'], kept, kept, kept), true],
    ['changes to one value, half of all changes', changes, times(20, [1, 0, 'v'], [1, 0]), false],
  ])('of %s: %s', (_, rule, some, expected) => {
    expect(found(rule, some) !== null).toBe(expected);
  });

  it('is none of changes that came over more than a day', () => {
    expect(found(changes, times(40, [1, 0, 'v']), 7 * hour)).toBeNull();
    expect(found(changes, times(40, [1, 0, 'v']), 4 * hour)).not.toBeNull();
  });

  it('is none of few records, however many of their answers change', () => {
    expect(found(amount, times(40, lost), 1000, limit, limit - 1)).toBeNull();
    expect(found(amount, times(40, lost), 1000, limit, limit)).not.toBeNull();
  });

  it('goes on over a restart, and forgets what is a day old', () => {
    const again = (later_ms: number) => {
      const marks = [{ name: '', ...amount }];
      const answer = (index: number, at: number) => ({ record: String(index), marks, changed: true, shown: 30, said: 3, at, item: index }); // biome-ignore format: facts
      const before = new Wave<number>();
      for (const index of [0, 1, 2, 3]) before.note(answer(index, noon), () => limit);
      expect(before.isUnsaved).toBe(true);
      const after = new Wave<number>(JSON.parse(JSON.stringify(before.saved(noon + later_ms))));
      expect(before.isUnsaved).toBe(false);
      return after.note(answer(4, noon + later_ms), () => limit);
    };
    expect(again(hour)).toEqual({ mark: '', earlier: [0, 1, 2, 3] });
    expect(again(25 * hour)).toBeNull();
  });

  it('is none where too few records could change', () => {
    expect(found(changes, times(400, [1, 0, 'v']), 1000, Number.POSITIVE_INFINITY)).toBeNull();
  });

  it('is found beside thousands of other changes', () => {
    const others = (of: number) => Array.from({ length: 500 }, (_, index): Answer => [1, 1, `${of} ${index}`]);
    const some = Array.from({ length: 9 }, (_, index): Answer[] => [...others(index), [1, 0, 'v']]).flat();
    expect(found(changes, some)).not.toBeNull();
  });

  it('of windows without weekends shows hardly more of them than the limit, though some lose few dates', () => {
    const able = 1000;
    let shown = 0;
    const answer = (index: number): Answer => {
      // In each window a tenth of the dates was sold out, which may have been its weekends.
      const days = Array.from({ length: 31 }, (_, day) => day).filter((day) => roll(1, index, day) > 0.1);
      return [days.length, days.filter((day) => (index + day) % 7 > 1).length];
    };
    const wave = new Wave<number>();
    for (let item = 0; item < able; item += 1) {
      const [shown_dates, dates] = answer(item);
      const said: Said = { subject: 'fewer-far-dates', shown: shown_dates, said: dates };
      const counts = { record: String(item), changed: true, shown: shown_dates, said: dates, at: noon, item };
      if (wave.note({ marks: marksOf(said), ...counts }, () => limitOf(able)) !== null) break;
      shown += 1;
    }
    expect(shown).toBeLessThan(1.1 * limitOf(able));
  });
});
