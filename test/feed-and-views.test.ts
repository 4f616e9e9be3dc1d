import { expect, it } from 'vitest';
import { thorough } from './fakes/thorough.ts';
import { commitsOf } from './worlds/copies/commits.ts';

it('the feed tells of each commit what the views showed before and after it', async () => {
  const { wrong, commits, compared } = await commitsOf({ changes: thorough ? 600 : 120, seed: 5 });
  expect(wrong).toEqual([]);
  expect(commits).toBeGreaterThan(thorough ? 500 : 100);
  expect(compared).toBeGreaterThan(thorough ? 2000 : 400);
});
