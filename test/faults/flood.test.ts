import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { flood } from './flood.ts';

const megabyte = 1024 * 1024;

/* A minute of it, and how much memory it takes: D24 of `npm run faults`. */

it('a flood of valid deliveries takes the disk it may take, and an honest one amid it is stored', async () => {
  using directory = temporaryDirectory();
  const config = { retention: { deliveries_bytes: '2MiB' } };
  const ends = { acknowledged: 60 } as const;
  const { honest, tries, refused, file } = await flood({ directory: directory.path, connections: 4, ends, config });
  expect({ honest, tries }).toEqual({ honest: 200, tries: 1 });
  // What waits to be applied takes no room that others need: eighty were refused where it waited for a tenth of a second.
  expect(refused).toBeLessThan(20);
  // Of 18 MB: the budget, one group of deliveries beyond it, and a write-ahead log of the same.
  expect(file).toBeLessThan(14 * megabyte);
});
