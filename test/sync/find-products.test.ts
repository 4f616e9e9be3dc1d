import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { findProducts } from '../../src/sync/reads/find-products.ts';
import { requestResync, resyncResources } from '../../src/sync/records/resync.ts';
import { type VirtualHouse, virtualHouse } from '../fakes/virtual-house.ts';

const never = new AbortController().signal;

function find({ wiring }: VirtualHouse, id: number): Promise<void> {
  return findProducts(wiring.ports, [id], { promptly: wiring.storage.promptly, signal: never });
}

/** A mirror from before its newest product was offered. */
async function withoutOne(config: Record<string, unknown> = {}): Promise<{ house: VirtualHouse; id: number }> {
  const house = await virtualHouse({ lean: true, products: 8 }, config);
  const late = house.sandbox.products()[3];
  if (late === undefined) throw new Error('no product');
  late.withdrawn = true;
  await house.runUntil(() => house.wiring.mirror.filledAt() !== null);
  return { house, id: late.id };
}

describe('a product that is not mirrored, and asked for by name', () => {
  it('is mirrored with all that belongs to it, where the service has it', async () => {
    const { house, id } = await withoutOne();
    await using _ = house;
    const late = house.sandbox.world.find(id);
    if (late !== null) late.withdrawn = false;
    await house.drive(find(house, id));
    expect(house.wiring.mirror.products.isVisible(id)).toBe(true);
    const request = { resources: resyncResources, product_ids: [id], from: null, to: null };
    const job = requestResync(house.wiring.ports, request);
    await house.runUntil(() => house.wiring.mirror.jobs.find(job.job_id)?.left === 0);
    expect(house.wiring.mirror.jobs.find(job.job_id)).toMatchObject({ failed: 0, left: 0 });
    expect(house.wiring.mirror.records.ofProduct(id).every(({ fetched_at }) => fetched_at !== null)).toBe(true);
  });

  it('leaves nothing behind where the service has none: 64, and it is named', async () => {
    const { house, id } = await withoutOne();
    await using _ = house;
    const asked = house.drive(find(house, id));
    await expect(asked).rejects.toMatchObject({ code: 'unknown-product', exitCode: 64 });
    expect(house.wiring.mirror.products.find(id)).toBeNull();
    expect(house.wiring.mirror.records.ofProduct(id)).toEqual([]);
  });

  it('leaves nothing behind where the service does not answer (69), or not in time', async () => {
    const { house, id } = await withoutOne();
    await using _ = house;
    const late = house.sandbox.world.find(id);
    if (late !== null) late.withdrawn = false;
    for (const kind of ['html', 'hang'] as const) {
      house.sandbox.faults.add({ kind, path: `^/v2/products/${id}`, times: 1 });
      const asked = house.drive(find(house, id));
      await expect(asked).rejects.toMatchObject({ code: 'not-answered', exitCode: 69 });
    }
    expect(house.wiring.mirror.records.ofProduct(id)).toEqual([]);
  });

  it('is told of where its file cannot be written (75), and mirrored once it can', async () => {
    const { house, id } = await withoutOne();
    await using _ = house;
    const late = house.sandbox.world.find(id);
    if (late !== null) late.withdrawn = false;
    house.wiring.storage.serve();
    const other = new Database(house.wiring.mirror.path);
    other.exec('BEGIN IMMEDIATE');
    await expect(house.drive(find(house, id))).rejects.toMatchObject({ code: 'locked', exitCode: 75 });
    other.exec('ROLLBACK');
    other.close();
    await house.drive(find(house, id));
    expect(house.wiring.mirror.products.isVisible(id)).toBe(true);
  });

  it('is not asked for where the configuration leaves it out, or the service has no such read', async () => {
    const { house, id } = await withoutOne({
      service: { profile: { authorization: { header: null }, paths: { product: null } } },
    });
    await using _ = house;
    const { calls } = house.sandbox.calls.counts();
    const asked = find(house, id);
    await expect(asked).rejects.toMatchObject({ code: 'unknown-product', hint: expect.stringContaining('--products') });
    expect(house.sandbox.calls.counts().calls).toBe(calls);
  });
});
