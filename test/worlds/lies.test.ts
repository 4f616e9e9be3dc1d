import { describe, expect, it } from 'vitest';
import { someOf } from '../fakes/thorough.ts';
import { serviceLog } from './history.ts';
import { caseOf } from './lies/cases.ts';
import { type Errors, factOf, judge, limitOf, type Subject, verdictOf } from './lies/judge.ts';
import { liveCase } from './lies/live.ts';

const hour = 3_600_000;

/** Judges one record of a subject: what was so and what was shown, each from an hour on. */
function judged(subject: Subject, truth: [number, string][], shown: [number, string][], to = 100): Errors {
  const logs = { truth: serviceLog(), shown: serviceLog() };
  for (const [at, value] of truth) logs.truth.note(at * hour, new Map([[factOf(subject, 1), value]]));
  for (const [at, value] of shown) logs.shown.note(at * hour, new Map([[factOf(subject, 1), value]]));
  return judge({ ...logs, product_ids: [1], to: to * hour });
}

describe('the judge', () => {
  it('counts the hours of what is shown and was never so', () => {
    const { wrong, late } = judged('near dates', [[0, '5']], [[0, '5'], [10, '0'], [13, '5']])['near dates']; // biome-ignore format: a log
    expect({ wrong, late }).toEqual({ wrong: { hours: 3, at_once: 1, able: 1 }, late: [] });
  });

  it('counts no lie in what was so once, but the hours until what is so is shown', () => {
    const { wrong, late } = judged('near dates', [[0, '5'], [10, '0']], [[0, '5'], [17, '0']])['near dates']; // biome-ignore format: a log
    expect({ wrong: wrong.hours, late }).toEqual({ wrong: 0, late: [{ at: 10 * hour, hours: [7] }] });
  });

  it('calls late without end what is never shown, and passes over what was over before it had to be', () => {
    const { late } = judged('near price', [[0, '5'], [10, '6'], [11, '5'], [20, '7']], [[0, '5']])['near price']; // biome-ignore format: a log
    expect(late.map(({ hours }) => hours)).toEqual([[0], [Number.POSITIVE_INFINITY]]);
  });

  it('finds both kinds of error beyond what a case allows', () => {
    const errors = judged('near dates', [[0, '5'], [50, '4']], [[0, '5'], [10, '0'], [13, '5'], [60, '4']]); // biome-ignore format: a log
    expect(verdictOf(errors, { late: { 'near dates': 10 }, wrong: { 'near dates': 3 } })).toEqual({
      ...{ shown: [], late: [], silent: [] },
      beyond: { records: 0, hours: 0 },
      delay: 10,
    });
    expect(verdictOf(errors, { late: { 'near dates': 9 }, wrong: { 'near dates': 2 } })).toEqual({
      shown: ['near dates: wrong for 3.00 h a product, at most 2.00'],
      late: [expect.stringContaining('were shown after 10.0 h at the median, at most 9')],
      silent: [],
      beyond: { records: 0, hours: 1 },
      delay: 10,
    });
  });

  it('finds a lie that is shown and had to be reported', () => {
    const errors = judged('status', [[0, '1']], [[0, '1']]);
    const bounds = { late: {}, wrong: {}, tells: ['alike-titles'] };
    expect(verdictOf(errors, bounds, new Set(['alike-titles'])).silent).toEqual([]);
    expect(verdictOf(errors, bounds).silent).toEqual(['alike-titles']);
  });

  it.each([[1, 1], [5, 2], [12, 5], [20, 5], [90, 9]])('lets of %i records be wrong %i', (able, limit) => {
    expect(limitOf(able)).toBe(limit);
  }); // biome-ignore format: a table
});

describe('a daemon that believes everything', () => {
  it.each(someOf(['no dates, one sweep', 'prices × 0.01, one sweep']))('shows a lie: %s', async (name) => {
    const { shown, late } = await liveCase(caseOf(name), 'believes');
    expect(shown).not.toEqual([]);
    expect(late).toEqual([]);
  });
});

describe('a daemon with the rule', () => {
  it.each(someOf(['no dates, one sweep', 'prices × 0.01, one sweep', '40 % close without a word']))(
    'shows no lie, and every truth in time: %s',
    async (name) => {
      expect(await liveCase(caseOf(name), 'rule')).toMatchObject({ shown: [], late: [] });
    },
  );
});

it('a daemon that freezes everything shows no lie, and no truth', async () => {
  const { shown, late } = await liveCase(caseOf('40 % close without a word'), 'freezes');
  expect(shown).toEqual([]);
  expect(late).not.toEqual([]);
});
