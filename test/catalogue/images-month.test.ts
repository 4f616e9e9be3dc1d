import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { liveMonth } from '../worlds/month.ts';

const limit = 14 * 86_400_000;

/** `npm run worlds -- month --faults --silent 16` is the same with 2,000 products and the usual cadences. */
it(
  'no image is visible 14 days after it was confirmed, at any minute of bad days and sixteen silent ones',
  needs('time'),
  async () => {
    const seldom = { availability: { horizon: 2, near: { days: 1, every: '7d' }, middle: { days: 2, every: '7d' } } };
    const { shown, unlimited_ms, record, takedowns } = await liveMonth({
      products: 12,
      seed: 2,
      days: 14,
      calm_days: 0,
      silent_days: 16,
      faults: 'many',
      config: { scheduling: 'fixed', cadence: { images: '5d', ...seldom } },
      progress: () => {},
    });
    const [bad, silent] = shown;
    expect(bad).toMatchObject({ minutes: 14 * 1440 });
    expect(bad.oldest_ms).toBeLessThan(limit);
    expect(bad.least).toBeGreaterThan(20);
    expect(silent).toMatchObject({ minutes: 16 * 1440, least: 0 });
    expect(silent.oldest_ms).toBeLessThan(limit);
    expect(silent.oldest_ms).toBeGreaterThan(limit - 120_000);
    // The control: without the view's limit they would still be there.
    expect(unlimited_ms).toBeGreaterThan(16 * 86_400_000 - 3_600_000);
    // Whatever the newest answer said of a product is what is shown of it: takedowns and credits within one read.
    expect(record).toMatchObject({ differing: 0 });
    expect(record.behind).toBeGreaterThan(500);
    expect(takedowns).toBeGreaterThan(10);
    expect(record.stamp_off_ms).toBeLessThan(60_000);
  },
);
