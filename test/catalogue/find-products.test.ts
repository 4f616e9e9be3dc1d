import { describe, expect, it } from 'vitest';
import { findProducts } from '../../src/catalogue/find-products.ask.ts';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;

function find({ daemon }: VirtualHarness, id: number): Promise<number[]> {
  return findProducts(daemon.sync, [id], { writer: daemon.writer, signal: never });
}

/** A mirror from before its newest product was offered. */
async function withoutOne(config: Record<string, unknown> = {}): Promise<{ harness: VirtualHarness; id: number }> {
  const harness = await virtualHarness({ lean: true, products: 8 }, config);
  const late = harness.sandbox.products()[3];
  if (late === undefined) throw new Error('no product');
  late.withdrawn = true;
  await harness.fill();
  return { harness, id: late.id };
}

describe('a product that is not mirrored, and asked for by name', () => {
  it('is mirrored with all that belongs to it, where the service has it', async () => {
    const { harness, id } = await withoutOne();
    await using _ = harness;
    const late = harness.sandbox.world.find(id);
    if (late !== null) late.withdrawn = false;
    await harness.drive(find(harness, id));
    expect(harness.products().includes(id)).toBe(true);
    const request = { resources: resyncResources, product_ids: [id], from: null, to: null };
    const job = requestResync(harness.daemon.sync, request);
    await harness.runUntil(() => harness.job(job.job_id).left === 0);
    expect(harness.job(job.job_id)).toMatchObject({ failed: 0, left: 0 });
    expect(harness.explain(id).records.every(({ fetched_at }) => fetched_at !== null)).toBe(true);
  });

  it('leaves nothing behind where the service has none: 64, and it is named', async () => {
    const { harness, id } = await withoutOne();
    await using _ = harness;
    const asked = harness.drive(find(harness, id));
    await expect(asked).rejects.toMatchObject({ code: 'unknown-product', exitCode: 64 });
    expect(() => harness.explain(id)).toThrow('finds nothing');
  });

  it('leaves nothing behind where the service does not answer (69), or not in time', async () => {
    const { harness, id } = await withoutOne();
    await using _ = harness;
    const late = harness.sandbox.world.find(id);
    if (late !== null) late.withdrawn = false;
    for (const kind of ['html', 'hang'] as const) {
      harness.sandbox.faults.add({ kind, path: `^/v2/products/${id}`, times: 1 });
      const asked = harness.drive(find(harness, id));
      await expect(asked).rejects.toMatchObject({ code: 'not-answered', exitCode: 69 });
    }
    expect(() => harness.explain(id)).toThrow('finds nothing');
  });

  it.each([
    [
      'the service has no read of one product: the error names the list',
      { profile: { paths: { product: null } } },
      '--products',
    ],
    [
      'the configuration leaves it out: the error names the key',
      { select: { exclude_product_ids: [999] } },
      'exclude_product_ids',
    ],
  ])('is not asked for where %s', async (_, service, hint) => {
    const { harness } = await withoutOne({ service });
    await using _harness = harness;
    const { calls } = harness.sandbox.calls.counts();
    const refused = { code: 'unknown-product', hint: expect.stringContaining(hint) };
    await expect(find(harness, 999)).rejects.toMatchObject(refused);
    expect(harness.sandbox.calls.counts().calls).toBe(calls);
  });
});
