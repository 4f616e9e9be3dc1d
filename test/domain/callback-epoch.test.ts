import { describe, expect, test } from 'vitest';
import { type EpochState, rotationStep, standingOf } from '../../src/domain/push/callback-epoch.ts';

const now = Date.UTC(2026, 10, 21, 12);
const day = 86_400_000;
const epoch = (number: number, announced_at: number | null, until: number | null = null): EpochState => ({
  epoch: number,
  begun_at: announced_at ?? now,
  announced_at,
  until,
});

describe('a rotation', () => {
  const cases: [title: string, epochs: EpochState[], expected: object][] = [
    ['begins with the first address', [], { step: 'begin' }],
    [
      'goes on where the service was not told yet',
      [epoch(1, now - 40 * day), epoch(2, null)],
      { step: 'put', epoch: 2 },
    ],
    ['rests until the address is old enough', [epoch(1, now - day)], { step: 'rest', until: now + 29 * day }],
    ['begins again when it is', [epoch(2, now - 30 * day), epoch(1, now - 60 * day)], { step: 'begin' }],
  ];
  test.each(cases)('%s', (_, epochs, expected) => {
    expect(rotationStep(epochs, 30 * day, now)).toEqual(expected);
  });

  test('judges an address by its epoch', () => {
    const epochs = [epoch(1, now - 9 * day, now - day), epoch(2, now - 8 * day, now + day), epoch(3, now - day)];
    const standings = [3, 2, 1, 7].map((number) => standingOf({ address: 'ours', epoch: number }, epochs, now));
    expect(standings).toEqual(['current', 'grace', 'dropped', 'dropped']);
    expect(standingOf({ address: 'foreign', epoch: null }, epochs, now)).toBe('foreign');
    expect(standingOf({ address: null, epoch: null }, epochs, now)).toBeNull();
  });
});
