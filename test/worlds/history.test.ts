import { describe, expect, it } from 'vitest';
import { judge, judgeChecks, type Observation, serviceLog, type Told } from './history.ts';

const minute = 60_000;
const noon = Date.parse('2026-11-21T12:00:00Z');
const at = (minutes: number) => noon + minutes * minute;
const strict = { slack_ms: 2 * minute, cached_ms: 0 };
const cached = { slack_ms: 12 * minute, cached_ms: 10 * minute };

/** A price that was 10, was 12 for an hour, and has been 10 again, then 14. */
function prices() {
  const log = serviceLog();
  for (const [minutes, value] of [
    [0, '10'],
    [60, '12'],
    [120, '10'],
    [180, '14'],
  ] as const)
    log.note(at(minutes), new Map([['price', value]]));
  return log;
}

const saw = (minutes: number, value: string, read: number | null = null): Observation => ({
  at: at(minutes),
  who: 'a reader',
  fact: 'price',
  value,
  checked_at: read === null ? null : at(read),
});

describe("a reader's history", () => {
  it.each([
    ['what the service says', [saw(10, '10', 9), saw(70, '12', 65), saw(130, '10', 125), saw(200, '14', 190)]],
    ['what it said long ago, where nothing is claimed', [saw(170, '12')]],
    ['a value that came back after it had seen another one', [saw(70, '12'), saw(130, '10')]],
    ['what was so a moment before it was read', [saw(70, '10', 61)]],
  ])('is right with %s', (_, seen) => {
    expect(judge(prices(), seen, strict)).toEqual([]);
  });

  it.each([
    ['what the service never said', [saw(70, '11')], 'that price is 11: the service never said so'],
    ['what it says only later', [saw(70, '14')], 'that price is 14: the service never said so'],
    ['what was over when it is said to have been read', [saw(100, '10', 90)], 'was not so at 11-21T13:30:00'],
    ['what is older than what it saw', [saw(190, '14'), saw(200, '12')], 'had seen a later one, at 11-21T15:10:00'],
  ])('is wrong with %s', (_, seen, why) => {
    expect(judge(prices(), seen, strict)).toEqual([expect.stringContaining(why)]);
  });

  it('may go back to what a cache still has, and no further', () => {
    const back = (to: string) => judge(prices(), [saw(185, '14'), saw(200, to)], cached);
    expect(back('10')).toEqual([]);
    expect(back('12')).toEqual([expect.stringContaining('had seen a later one')]);
  });

  it('is that of one reader: another one may be behind', () => {
    expect(judge(prices(), [saw(190, '14'), { ...saw(200, '12'), who: 'a follower' }], strict)).toEqual([]);
  });
});

describe('what a shopper was told', () => {
  const day = '2026-12-01';
  /** On sale, sold out from the hour on. */
  function sold() {
    const log = serviceLog();
    const facts = (state: string) =>
      new Map([
        ['7 is visible', 'true'],
        ['7 sale_status', 'enabled'],
        [`7 ${day}`, JSON.stringify([state])],
      ]);
    log.note(at(0), facts('available'));
    log.note(at(60), facts('sold_out'));
    return log;
  }
  const told = (verdict: string, asked: number, live = true): Told => ({
    product_id: 7,
    date: day,
    verdict,
    live,
    asked_at: at(asked),
    answered_at: at(asked) + 1000,
  });

  it.each([
    ['that it holds, while it does', told('holds', 10), 0],
    ['that it is gone, when it is', told('gone', 70), 0],
    ['either while it changes', told('gone', 60), 0],
    ['what a cache still has', told('holds', 65), 10 * minute],
    ['what no answer says, as of the last read', told('holds', 70, false), 0],
  ])('may be %s', (_, answer, cached_ms) => {
    expect(judgeChecks(sold(), [answer], cached_ms)).toEqual([]);
  });

  it.each([
    ['that it holds, when it is gone', told('holds', 70), 0],
    ['that it is gone, while it holds', told('gone', 10), 0],
    ['what no cache has any more', told('holds', 75), 10 * minute],
  ])('may not be %s', (_, answer, cached_ms) => {
    expect(judgeChecks(sold(), [answer], cached_ms)).toEqual([expect.stringContaining(`product 7 on ${day}`)]);
  });
});
