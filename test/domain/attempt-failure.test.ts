import { expect, test } from 'vitest';
import { type AttemptFailure, isBlameless, isWorthTelling } from '../../src/domain/push/subscription-step.ts';

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
