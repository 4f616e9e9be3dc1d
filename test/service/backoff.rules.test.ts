import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AttemptFailure, isBlameless, isWorthTelling } from '../../src/push/subscription-step.rules.ts';
import { quarantineAfter, retryAt, soonRetryAt } from '../../src/service/backoff.rules.ts';

const now = Date.UTC(2026, 10, 21);
const minute = 60_000;
const day = 86_400_000;
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test.for([
  [1, 1 * minute],
  [2, 2 * minute],
  [3, 4 * minute],
  [4, 8 * minute],
  [5, 64 * minute],
  [6, 512 * minute],
])('failure %i in a row is tried again within %i ms, at any instant of them', ([failures, longest]) => {
  expect(retryAt(failures as number, 0.999999, now)).toBeCloseTo(now + (longest as number), -3);
  expect(retryAt(failures as number, 0.5, now)).toBe(now + (longest as number) / 2);
});

test('a record is never tried again within a second', () => {
  expect(retryAt(1, 0, now)).toBe(now + 1000);
});

test('a record that stays in quarantine is tried once a day, however often it failed', () => {
  fc.assert(
    fc.property(fc.integer({ min: quarantineAfter + 2, max: 10_000 }), chance, (failures, c) => {
      const wait = retryAt(failures, c, now) - now;
      expect(wait).toBeGreaterThanOrEqual(0.9 * day);
      expect(wait).toBeLessThanOrEqual(day);
    }),
  );
});

test.for([
  [1, 2_000],
  [2, 4_000],
  [3, 8_000],
  [4, 16_000],
  [5, minute],
  [6, 8 * minute],
])(
  'what nobody has yet is tried again after failure %i within %i ms, at any instant of them',
  ([failures, longest]) => {
    expect(soonRetryAt(failures as number, 0.5, now)).toBe(now + (longest as number) / 2);
  },
);

test.for([
  ['a record', retryAt],
  ['one that was never read', soonRetryAt],
] as const)('%s that always fails costs at most twelve calls in a day', ([, again]) => {
  fc.assert(
    fc.property(fc.infiniteStream(chance), (chances) => {
      let at = now;
      let calls = 0;
      for (let failures = 1; at < now + day; failures++) {
        calls += 1;
        at = again(failures, chances.next().value ?? 0, at);
      }
      expect(calls).toBeLessThanOrEqual(12);
    }),
  );
});

const cases: [failure: AttemptFailure | null, told: 'at once' | 'the third time' | 'never', blameless: boolean][] = [
  ['refused', 'at once', false],
  ['missing', 'at once', false],
  ['failed', 'the third time', false],
  ['self-test', 'the third time', false],
  ['throttled', 'the third time', true],
  ['unreachable', 'the third time', true],
  [null, 'never', false],
];

test.each(cases)('an attempt that ended as %s is told %s', (failure, told, blameless) => {
  const first = [1, 2, 3, 4].find((failures) => isWorthTelling(failure, failures));
  expect(first).toBe({ 'at once': 1, 'the third time': 3, never: undefined }[told]);
  if (failure !== null) expect(isBlameless(failure)).toBe(blameless);
});
