import { expect, test } from 'vitest';
import { type EpochState, standingOf } from '../../src/push/callback-epoch.rules.ts';

const now = Date.UTC(2026, 10, 21, 12);
const day = 86_400_000;
const epoch = (number: number, announced_at: number | null, until: number | null = null): EpochState => ({
  epoch: number,
  begun_at: announced_at ?? now,
  announced_at,
  until,
});

test('an address is judged by its epoch', () => {
  const epochs = [epoch(1, now - 9 * day, now - day), epoch(2, now - 8 * day, now + day), epoch(3, now - day)];
  const standings = [3, 2, 1, 7].map((number) => standingOf({ address: 'ours', epoch: number }, epochs, now));
  expect(standings).toEqual(['current', 'grace', 'dropped', 'dropped']);
  expect(standingOf({ address: 'foreign', epoch: null }, epochs, now)).toBe('foreign');
  expect(standingOf({ address: null, epoch: null }, epochs, now)).toBeNull();
});
