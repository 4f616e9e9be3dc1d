import { expect, it } from 'vitest';
import { needs } from '../fakes/needs.ts';
import { imageStory } from '../simulate/images.ts';

const limit = 14 * 86_400_000;

/** `npm run simulate -- --images` is the same with 300 products and the usual cadences. */
it('no image is visible 14 days after it was confirmed, at any minute of forty bad days and sixteen silent ones', {
  ...needs('time'),
  timeout: 120_000,
}, async () => {
  await using stack = new AsyncDisposableStack();
  const seldom = { availability: { horizon: 2, near: { days: 1, every: '7d' }, middle: { days: 2, every: '7d' } } };
  const story = await imageStory(
    {
      products: 12,
      seed: 2,
      days: 40,
      silent_days: 16,
      config: { scheduling: 'fixed', cadence: { images: '5d', ...seldom } },
      progress: () => {},
    },
    stack,
  );
  const [bad, silent] = story.lines;
  expect(bad).toMatchObject({ minutes: 40 * 1440 });
  expect(bad?.oldest_ms).toBeLessThan(limit);
  expect(bad?.shown_least).toBeGreaterThan(20);
  expect(silent).toMatchObject({ minutes: 16 * 1440, shown_least: 0 });
  expect(silent?.oldest_ms).toBeLessThan(limit);
  expect(silent?.oldest_ms).toBeGreaterThan(limit - 120_000);
  // The control: without the view's limit they would still be there.
  expect(story.unlimited_ms).toBeGreaterThan(16 * 86_400_000 - 3_600_000);
  // Whatever the newest answer said of a product is what is shown of it: takedowns and credits within one read.
  expect(story).toMatchObject({ differing: 0 });
  expect(story.behind).toBeGreaterThan(1000);
  expect(story.takedowns).toBeGreaterThan(20);
  expect(story.stamp_off_ms).toBeLessThan(60_000);
});
