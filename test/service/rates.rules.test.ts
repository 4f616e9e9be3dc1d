import { describe, expect, test } from 'vitest';
import { Limiter, type LimiterOptions } from '../../src/service/limiter.ts';
import { someOf, thorough } from '../fakes/thorough.ts';
import { cellOf, runCell } from './limited-service.ts';

const none = { kind: 'none', share: 0 } as const;
const usual = { ceiling: 30, per_second: 10, strays: none, shape: 'fixed window', told: 'nothing' } as const;
const time = { minutes: 20 };

describe('of what a service allows', () => {
  test.for(
    someOf([
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
    ] as const),
  )('%s, nine tenths are used, and one call in two hundred is throttled at most', async ([, cell]) => {
    const result = await runCell(cellOf({ ...cell, ...time }));
    expect(result.used).toBeGreaterThanOrEqual(0.9);
    expect(result.throttled).toBeLessThanOrEqual(0.005);
    expect(result.while_told).toBe(0);
  });

  test('with a stray 503 in a thousand, 97 hundredths are used over an hour; at half the pace half is left (control)', async () => {
    const strays = { kind: '503', share: 0.001 } as const;
    const cell = cellOf({ ...usual, ceiling: 10, per_second: Infinity, strays, minutes: 65 });
    const halved = (options: LimiterOptions) =>
      new Limiter({ ...options, budget: { ...options.budget, requests_per_second: 5 } });
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

describe('the first hour with a stray 429 in a hundred calls, a limit of 10 calls a second and a ceiling of 15', () => {
  const strays = { kind: '429', share: 0.01 } as const;
  const hour = { ceiling: 15, per_second: 10, strays, minutes: 60 };
  const seeds = Array.from({ length: thorough ? 8 : 2 }, (_, index) => index + 1);

  test.for(
    someOf([
      ['counted by the second', 'fixed window', 'nothing'],
      ['counted over any second', 'sliding window', 'nothing'],
      ['that comes in a bucket', 'bucket', 'nothing'],
      ['after which everything is refused for a second', 'lockout', 'nothing'],
      ['after which everything is refused for a second, with Retry-After', 'lockout', 'retry-after'],
    ] as const),
  )(
    '%s: 85 of 100 allowed calls are made whatever the seed, and on average 7 of 1,000 are throttled at most',
    async ([, shape, told]) => {
      const throttled: number[] = [];
      for (const seed of seeds) {
        const result = await runCell({ ...cellOf({ ...hour, shape, told }), seed });
        expect(result.used, `seed ${seed}`).toBeGreaterThanOrEqual(0.85);
        expect(result.throttled, `seed ${seed}`).toBeLessThanOrEqual(0.01);
        expect(result.while_told).toBe(0);
        throttled.push(result.throttled);
      }
      expect(throttled.reduce((sum, share) => sum + share, 0) / seeds.length).toBeLessThanOrEqual(0.007);
    },
  );

  test('a limiter that takes no throttle for a limit has one call in ten throttled (control)', async () => {
    const deaf = (options: LimiterOptions) => {
      const limiter = new Limiter(options);
      const answer = { kind: 'answer' } as const;
      const heard = (call: Parameters<typeof limiter.run>[0]) => async (signal: AbortSignal) => {
        await call(signal);
        return answer;
      };
      const run = limiter.run.bind(limiter);
      return Object.assign(limiter, {
        run: ((call, ...rest) => run(heard(call), ...rest) as ReturnType<typeof call>) as typeof limiter.run,
      });
    };
    const cell = cellOf({ ...hour, minutes: 5, shape: 'lockout', told: 'nothing' });
    expect((await runCell(cell, deaf)).throttled).toBeGreaterThan(0.1);
  });
});
