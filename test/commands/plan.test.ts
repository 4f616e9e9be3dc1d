import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { runHere } from '../fakes/run-here.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

it('plan ends with 0 where the budget is enough, and with 1 where it is not', async () => {
  await using harness = await virtualHarness({ lean: true, products: 6 });
  await harness.fill();
  const directory = dirname(dirname(harness.daemon.config.mirror.path));
  const config = join(directory, 'catalogued.yaml');
  const plan = async (more: Record<string, unknown>) => {
    writeFileSync(config, testConfigText(directory, harness.sandbox.url, more));
    return await runHere(['--config', config, 'plan']);
  };
  expect(await plan({})).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The budget meets every freshness target.'),
  });
  const every = { every: '1m' };
  const scarce = {
    cadence: { availability: { near: every, middle: every, far: every } },
    budget: { requests_per_second: 0.1, concurrency: 1 },
  };
  expect(await plan(scarce)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('The budget cannot meet the freshness targets of the lane near'),
  });
});
