import { expect, it } from 'vitest';
import { thorough } from '../fakes/thorough.ts';
import { valued } from '../worlds/copies/announced.ts';
import { commitsOf } from '../worlds/copies/commits.ts';

it('the feed tells of each commit what the views showed before and after it, and what it does not show is noticed', async () => {
  const { wrong, commits, compared, kinds, unnoticed } = await commitsOf({ changes: thorough ? 600 : 150, seed: 21 });
  expect(wrong).toEqual([]);
  expect(commits).toBeGreaterThan(thorough ? 800 : 200);
  expect(compared).toBeGreaterThan(thorough ? 700 : 400);
  expect(valued.filter((kind) => !kinds.has(kind))).toEqual([]);
  expect([...unnoticed.keys()]).toEqual([]);
});
