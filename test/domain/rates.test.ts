import { describe, expect, test } from 'vitest';
import { createLimiter } from '../../src/upstream/limiter.ts';
import { cellOf, runCell } from './limited-service.ts';

const none = { kind: 'none', share: 0 } as const;
const usual = { ceiling: 30, per_second: 10, strays: none, shape: 'fixed window', told: 'nothing' } as const;
const time = { minutes: 20 };

describe('of what a service allows', () => {
  test.for([
    ['counted by the second', { ...usual }],
    ['counted by the second, with Retry-After', { ...usual, told: 'retry-after' }],
    ['counted over any second', { ...usual, shape: 'sliding window' }],
    ['that comes in a bucket', { ...usual, shape: 'bucket' }],
    ['that comes in a bucket without a burst', { ...usual, shape: 'tight bucket', told: 'retry-after' }],
    ['of 5 a second under a ceiling of 10', { ...usual, ceiling: 10, per_second: 5 }],
    [
      'without a limit, with a stray 503 in a hundred',
      { ...usual, per_second: Infinity, strays: { kind: '503', share: 0.01 } },
    ],
    [
      'without a limit, with a stray 429 in a thousand',
      { ...usual, per_second: Infinity, strays: { kind: '429', share: 0.001 } },
    ],
    ['of 5 a second under a ceiling of 300', { ...usual, ceiling: 300, per_second: 5 }],
    ['with a reset in a thousand', { ...usual, strays: { kind: 'reset', share: 0.001 } }],
  ] as const)('%s, nine tenths are used, and one call in two hundred is throttled at most', async ([, cell]) => {
    const result = await runCell(cellOf({ ...cell, ...time }));
    expect(result.used).toBeGreaterThanOrEqual(0.9);
    expect(result.throttled).toBeLessThanOrEqual(0.005);
    expect(result.while_told).toBe(0);
  });

  test('with a stray 503 in a thousand, 97 hundredths are used over an hour; at half the pace half is left (control)', async () => {
    const strays = { kind: '503', share: 0.001 } as const;
    const cell = cellOf({ ...usual, ceiling: 10, per_second: Infinity, strays, minutes: 65 });
    const halved: typeof createLimiter = (options) =>
      createLimiter({ ...options, budget: { ...options.budget, requests_per_second: 5 } });
    expect((await runCell(cell, halved)).used).toBeLessThan(0.7);
    expect((await runCell(cell)).used).toBeGreaterThan(0.97);
  });

  test('the ceiling is reached within twenty seconds where there is no limit', async () => {
    const cell = cellOf({ ...usual, ceiling: 300, per_second: Infinity, minutes: 0.5 });
    expect((await runCell(cell)).reached_ms).toBeLessThan(20_000);
  });

  test('a limit that doubles and halves again is found each time', async () => {
    const cell = cellOf({ ...usual, per_second: 5, minutes: 30 });
    const changing = [5, 10, 5].map((per_second, index) => ({ from_ms: index * 600_000, per_second }));
    const result = await runCell({ ...cell, limits: changing });
    expect(result.used).toBeGreaterThanOrEqual(0.8);
    expect(result.rate).toBeLessThan(5.5);
  });
});
