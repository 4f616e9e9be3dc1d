import { expect, it } from 'vitest';
import { requestResync } from '../../src/sync/records/resync.ts';
import { needs } from '../fakes/needs.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

it('a resync of what the service does not have is done at once: nobody waits for it', needs('time'), async () => {
  const paths = { service: { profile: { paths: { variants: null } } } };
  await using harness = await virtualHarness({ lean: true, products: 3 }, paths);
  const { wiring, clock } = harness;
  await harness.runUntil(() => wiring.mirror.filledAt() !== null);
  const request = { product_ids: [], resources: ['variants' as const], from: null, to: null };
  const { job_id, records } = requestResync(wiring.ports, request);
  expect(records).toBe(0);
  expect(wiring.mirror.jobs.find(job_id)?.finished_at).toBe(clock.now());
});
