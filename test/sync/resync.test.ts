import { describe, expect, it } from 'vitest';
import { type ResyncRequest, requestResync } from '../../src/sync/records/resync.ts';
import { needs } from '../fakes/needs.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const everything: ResyncRequest = { product_ids: [], resources: ['products'], from: null, to: null };

async function filled(paths: Record<string, null> = {}, asked: string[] = []): Promise<VirtualHarness> {
  const sandbox = { lean: true, products: 3, served: ({ path }: { path: string }) => asked.push(path) };
  const harness = await virtualHarness(sandbox, { service: { profile: { paths } } });
  await harness.runUntil(() => harness.wiring.mirror.filledAt() !== null);
  return harness;
}

describe('a resync', () => {
  it('of what the service does not have is done at once: nobody waits for it', needs('time'), async () => {
    await using harness = await filled({ variants: null });
    const { wiring, clock } = harness;
    const { job_id, records } = requestResync(wiring.ports, { ...everything, resources: ['variants'] });
    expect(records).toBe(0);
    expect(wiring.mirror.jobs.find(job_id)?.finished_at).toBe(clock.now());
  });

  it('that was interrupted goes on for a day, and begins anew after that', async () => {
    await using harness = await filled();
    const { wiring, clock } = harness;
    const first = requestResync(wiring.ports, everything);
    await harness.drive(clock.sleep(23 * hour));
    expect(requestResync(wiring.ports, everything)).toMatchObject({ job_id: first.job_id, resumed: true });
    await harness.drive(clock.sleep(2 * hour));
    const again = requestResync(wiring.ports, everything);
    expect(again.resumed).toBe(false);
    expect(again.job_id).not.toBe(first.job_id);
  });

  it('of one product that only the list brings walks the list', async () => {
    const asked: string[] = [];
    await using harness = await filled({ product: null }, asked);
    const { wiring, clock } = harness;
    const [product_id = 0] = wiring.mirror.products.ids();
    const { job_id, records } = requestResync(wiring.ports, { ...everything, product_ids: [product_id] });
    expect(records).toBeGreaterThan(0);
    asked.length = 0;
    await harness.liveUntil(clock.now() + 60_000);
    expect(asked).toContainEqual(expect.stringMatching(/^\/v2\/products(\?|$)/));
    expect(wiring.mirror.jobs.find(job_id)).toMatchObject({ left: 0, failed: 0 });
  });
});
