import { expect, it } from 'vitest';
import { isMute } from '../../src/domain/push/mute.ts';

const hour = 3_600_000;
const start = Date.parse('2026-11-02T08:00:00Z');

/** Deliveries every hour of working days for three weeks. */
const workdays = Array.from({ length: 21 * 24 }, (_, each) => start + each * hour).filter((at) => {
  const date = new Date(at);
  return date.getUTCHours() >= 8 && date.getUTCHours() < 18 && date.getUTCDay() % 6 !== 0;
});
const last = workdays.at(-1) ?? 0;
const always = Array.from({ length: 96 }, (_, each) => start + each * hour);

it.each([
  ['is not mute over a weekend that is like the others', workdays, last + 63 * hour, false],
  ['is mute when a silence outlasts its weekends by half', workdays, last + 96 * hour, true],
  ['that sends every hour is mute within a day', always, start + 95 * hour + 9 * hour, true],
  ['that sends every hour is not mute after five hours', always, start + 95 * hour + 5 * hour, false],
  ['of a few deliveries has no quirk', always.filter((_, each) => each % 12 === 0), start + 1000 * hour, false],
  ['of a single day has no quirk', always.slice(0, 24), start + 100 * hour, false],
  ['that never sent has no quirk', [], start, false],
])('a subscription %s', (_, times, now, expected) => {
  expect(isMute(times, now)).toBe(expected);
});
