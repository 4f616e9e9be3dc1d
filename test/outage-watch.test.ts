import { expect, it } from 'vitest';
import { outageWatch } from '../src/daemon/conditions/outage-watch.ts';
import { keyPause } from '../src/daemon/key-pause.ts';
import { outageLines } from '../src/domain/schedule/outage.ts';
import { testLog } from './fakes/test-log.ts';

const minute = 60_000;

it('an outage of five hours is nine lines: its begin, after 1, 5, 15 and 60 minutes, every hour, and its end', () => {
  let now = 1_000_000;
  let unreachable_since: number | null = null;
  const log = testLog();
  const clock = { now: () => now, monotonic: () => now - 500 };
  const watch = outageWatch(() => ({ unreachable_since }), { clock, log: log.log });
  watch.look();
  expect(log.lines()).toEqual([]);
  const began = now;
  unreachable_since = now;
  const said: number[] = [];
  for (; now < began + 5 * 60 * minute; now += 1000) {
    const before = log.lines().length;
    watch.look();
    if (log.lines().length > before) said.push((now - began) / minute);
  }
  expect(said).toEqual([0, 1, 5, 15, 60, 120, 180, 240]);
  unreachable_since = null;
  watch.look();
  watch.look();
  expect(log.lines()).toHaveLength(9);
  expect(log.lines().at(-1)).toMatchObject({ msg: 'the service answers again', ms: 5 * 60 * minute });
});

it.each([
  [0, 1],
  [minute - 1, 1],
  [minute, 2],
  [15 * minute, 4],
  [60 * minute, 5],
  [119 * minute, 5],
  [25 * 60 * minute, 29],
])('an outage of %i ms is worth %i lines', (lasted, lines) => {
  expect(outageLines(lasted)).toBe(lines);
});

it('the pause after a refused key doubles up to an hour, and ends with one answer to any call', () => {
  let answers = 3;
  const key = keyPause(() => answers);
  expect(key.mayTry(0)).toBe(true);
  const pauses = Array.from({ length: 8 }, () => key.note('No such key.', 1000) / minute);
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  expect([key.refused(), key.mayTry(1000 + 59 * minute), key.mayTry(1000 + 60 * minute)]).toEqual([
    'No such key.',
    false,
    true,
  ]);
  answers += 1;
  expect([key.refused(), key.mayTry(1000)]).toEqual([null, true]);
  expect(key.note('No such key.', 1000)).toBe(minute);
  key.tryNow();
  expect([key.refused(), key.mayTry(1000)]).toEqual([null, true]);
  expect(key.note('No such key.', 2000)).toBe(2 * minute);
});
