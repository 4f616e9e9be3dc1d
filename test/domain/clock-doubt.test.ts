import { expect, it } from 'vitest';
import { isImplausible, judgeJump, judgeStart } from '../../src/domain/schedule/clock-doubt.ts';

const true_now = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

it.each([
  ['the service agrees with the boot', 4100 * day, 0, 0, 'boot', 'wall-is-wrong'],
  ['half a minute of difference is agreement', -2 * hour, 0, 30_000, 'boot', 'wall-is-wrong'],
  ['the service agrees with the wall', 3 * day, 0, 3 * day, 'wall', 'time-was-lost'],
  ['the wall was set right', -4100 * day, 0, -4100 * day, 'wall', 'time-was-lost'],
  ['all three differ', 4100 * day, 0, -2 * hour, 'nobody', 'all-differ'],
] as const)('after a jump two of three decide: %s', (_, wall, boot, service, believe, reason) => {
  const at = (off: number) => true_now + off;
  expect(judgeJump({ wall: at(wall), boot: at(boot), service: at(service) })).toEqual({ believe, reason });
});

it.each([
  ['both agree', 0, 30_000, -minute, 'wall', 'agrees'],
  ['both agree, and the files were written in 2038', 0, 0, 4100 * day, 'wall', 'agrees'],
  ['our clock is in 1970', -56 * 365 * day, 0, -minute, 'service', 'after-the-last'],
  ['our clock is two hours back', -2 * hour, 0, -minute, 'service', 'after-the-last'],
  ["the service's clock is two hours back", 0, -2 * hour, -minute, 'wall', 'after-the-last'],
  ['our clock is in 2038', 4100 * day, 0, -minute, 'service', 'nearer'],
  ["the service's clock is in 2038", 0, 4100 * day, -minute, 'wall', 'nearer'],
  ['a few hours, and both may be', 2 * hour, 0, -minute, 'wall', 'own'],
  ['our clock is in 2038, and the files were written in 2050', 4100 * day, 0, 9000 * day, 'service', 'far-apart'],
  ['our clock is in 1970, and there are no files', -56 * 365 * day, 0, null, 'service', 'far-apart'],
  ['a few hours, and there are no files', 2 * hour, 0, null, 'wall', 'own'],
] as const)('at a start the last stored instant decides between two: %s', (_, wall, service, last, believe, reason) => {
  const judged = judgeStart({
    wall: true_now + wall,
    service: true_now + service,
    last: last === null ? null : true_now + last,
  });
  expect(judged).toEqual({ believe, reason });
});

it.each([
  ['a minute of downtime', -minute, false],
  ['three weeks of it', -21 * day, false],
  ['a few minutes ahead of us', 4 * minute, false],
  ['an hour ahead of us', hour, true],
  ['two months ago', -60 * day, true],
] as const)('at a start the service is asked first where the last stored instant is %s: %s', (_, last, asked) => {
  expect(isImplausible(true_now, true_now + last)).toBe(asked);
});

it('at a first start nobody is asked', () => {
  expect(isImplausible(0, null)).toBe(false);
});
