import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { flood } from './flood.ts';

const cli = join(import.meta.dirname, '../../src/cli.ts');
const megabyte = 1024 * 1024;

it('a flood of valid deliveries takes the disk it may take and little memory, and an honest one is stored', async () => {
  using directory = temporaryDirectory();
  const config = { retention: { deliveries_bytes: '4MiB' } };
  const { acknowledged, honest, file, peak } = await flood({ cli, directory: directory.path, seconds: 3, config });
  expect(acknowledged).toBeGreaterThan(0);
  expect(honest).toBe(200);
  // The budget, one group of deliveries beyond it, and a write-ahead log of the same.
  expect(file).toBeLessThan(40 * megabyte);
  expect(peak).toBeLessThan(300);
});
