import { describe, expect, it } from 'vitest';
import type { AnsweredDates, AvailabilityAnswer } from '../../src/dates/availability.rules.ts';
import { answerLengths, type WindowRequest, windowRequests } from '../../src/dates/window-requests.rules.ts';
import { addDays, type Dates } from '../../src/kernel/time/venue.ts';

const asked = { from: '2026-12-01', to: '2026-12-31' };
const date = (day: number) => addDays(asked.from, day - 1);
const named = (to: number) => ({ from: asked.from, to: date(to) });
const of = (named: Dates | null, covered_to: string): AnsweredDates => ({ named, covered_to, days: new Map() });
const answer = (to: number, capped_to = 31) => of(named(to), date(capped_to));

describe('an answer that ends before what was asked for', () => {
  it('covers all of it once a late date was named, by any product', () => {
    const lengths = answerLengths();
    expect(lengths.coveredTo(asked, answer(29))).toBe(asked.to);
    expect(lengths.coveredTo(asked, answer(7))).toBe(asked.to);
  });

  it('covers no more days than the longest so far, until one is longer', () => {
    const lengths = answerLengths();
    expect(lengths.coveredTo(asked, answer(5))).toBe(date(5));
    expect(lengths.coveredTo(asked, answer(7))).toBe(date(7));
    expect(lengths.coveredTo(asked, answer(3))).toBe(date(7));
    expect(lengths.coveredTo(asked, answer(25))).toBe(asked.to);
  });

  it('covers all of a request that is hardly longer than answers are, unless they are known to be cut', () => {
    const lengths = answerLengths();
    const short = { from: asked.from, to: date(13) };
    expect(lengths.coveredTo(short, of(named(7), short.to))).toBe(short.to);
    lengths.restAnswered(named(1));
    expect(lengths.coveredTo(short, of(named(7), short.to))).toBe(date(7));
  });

  it('covers what a cap that it names says, and all of it where it names no date, or others', () => {
    const lengths = answerLengths();
    expect(lengths.coveredTo(asked, answer(5, 4))).toBe(date(4));
    expect(lengths.coveredTo(asked, of(null, asked.to))).toBe(asked.to);
    expect(lengths.coveredTo(asked, of({ from: '2026-11-01', to: '2026-11-07' }, asked.to))).toBe(asked.to);
  });

  it('covers all of it after three rests without tickets, and no more so once a rest had some', () => {
    const lengths = answerLengths();
    for (let rest = 0; rest < 3; rest += 1) {
      expect(lengths.coveredTo(asked, answer(7))).toBe(date(7));
      expect(lengths.restAnswered(null)).toBe('empty');
    }
    expect(lengths.coveredTo(asked, answer(7))).toBe(asked.to);
    expect([lengths.restAnswered(named(3)), lengths.restAnswered(named(3))]).toEqual(['cut', 'known']);
    expect(lengths.coveredTo(asked, answer(7))).toBe(date(7));
  });
});

describe('an end that an answer gives', () => {
  it('is believed no more after three answers that name dates after it', () => {
    const lengths = answerLengths();
    lengths.coveredTo(asked, answer(31));
    expect(lengths.coveredTo(asked, answer(12, 1))).toBe(date(1));
    expect(lengths.coveredTo(asked, answer(20, 1))).toBe(date(1));
    expect(lengths.coveredTo(asked, answer(9, 1))).toBe(asked.to);
    expect(lengths.coveredTo(asked, of(null, date(1)))).toBe(asked.to);
  });

  it('is believed for as long as no date after it is named', () => {
    const lengths = answerLengths();
    for (let each = 0; each < 10; each += 1) expect(lengths.coveredTo(asked, answer(1, 1))).toBe(date(1));
  });

  it('is told once three windows in a row are answered by less than a quarter, and again when one is whole', () => {
    const lengths = answerLengths();
    const told = (to: number) => lengths.windowAnswered(asked, date(to));
    expect([told(1), told(7), told(1), told(1)]).toEqual([null, null, 'capped', null]);
    expect([told(31), told(31), told(8)]).toEqual(['whole', null, null]);
  });
});

/** An answer to a request that sells the first and the last of these dates, whatever was asked for. */
function naming({ asked }: WindowRequest, named: Dates): AvailabilityAnswer {
  const days = new Map([named.from, named.to].map((date) => [date, [1, null, []]]));
  return { named, covered_to: asked.to, days } as unknown as AvailabilityAnswer;
}

it('a service that answers two requests for the same other dates is caught, though it named whole weeks', () => {
  // From Wednesday to the Wednesday two weeks later.
  const window = { from: '2026-12-02', to: '2026-12-16' };
  const lengths = answerLengths();
  // A service that is known to answer for as many dates as it is asked for.
  for (let rest = 0; rest < 3; rest += 1) lengths.restAnswered(null);
  const requests = windowRequests(window, { today: '2026-11-21', most: 31, lengths });
  const answered = { from: '2026-11-30', to: '2026-12-06' };
  const first = requests.next();
  if (first === null) throw new Error('no request');
  const covered = requests.judge(first, naming(first, answered));
  expect(covered).toMatchObject({ dates: { from: '2026-12-02', to: '2026-12-06' }, asAsked: false });
  requests.stored(covered.kind === 'some' ? covered.still : []);
  const second = requests.next();
  if (second === null) throw new Error('no second request');
  expect(second.asked).toEqual({ from: '2026-11-30', to: '2026-12-27' });
  expect(requests.judge(second, naming(second, answered))).toEqual({ kind: 'nothing' });
  expect(requests.next()).toBeNull();
  expect(requests.unanswered).toMatchObject([{ from: '2026-12-07', to: '2026-12-16' }]);
});
