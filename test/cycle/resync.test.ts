import { describe, expect, it } from 'vitest';
import { concludeResync } from '../../src/commands/resync/wait.ts';
import { costOfResync, type ResyncRequest, requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { createPlacesInLists } from '../../src/schedule/deciding-reads.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { needs } from '../fakes/needs.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const hour = 3_600_000;
const everything: ResyncRequest = { product_ids: [], resources: ['products'], from: null, to: null };

async function filled(paths: Record<string, null> = {}, asked: string[] = []): Promise<VirtualHarness> {
  const sandbox = { lean: true, products: 3, served: ({ path }: { path: string }) => asked.push(path) };
  const harness = await filledHarness(sandbox, { service: { profile: { paths } } });
  return harness;
}

describe('a resync', () => {
  it('of what the service does not have is done at once, and says that it read nothing', needs('time'), async () => {
    await using harness = await filled({ variants: null });
    const { daemon, clock } = harness;
    const { job_id, records } = requestResync(daemon.sync, { ...everything, resources: ['variants'] });
    expect(records).toBe(0);
    const job = harness.job(job_id);
    expect(job.finished_at).toBe(clock.now());
    const io = capturedIo();
    concludeResync(io, job, { short_lists: [], held: [] }, clock.now());
    expect(io.out()).toMatch(/^Nothing was refreshed/);
  });

  it('reaches as far as the category of each product, and a date beyond that is refused', async () => {
    const top = 703_352;
    await using harness = await filledHarness(
      { lean: true, products: 3 },
      { categories: [{ name: 'top', match: { product_ids: [top] }, horizon: 180 }] },
    );
    const { sync } = harness.daemon;
    const late: ResyncRequest = { ...everything, resources: ['availability'], from: '2027-04-20' };
    expect(costOfResync(sync, { ...late, product_ids: [top] }, 10).records).toEqual({ availability: 2 });
    expect(requestResync(sync, late).records).toBe(2);
    expect(requestResync(sync, { ...late, from: null }).records).toBe(6 + 2 * 3);
    const [other = 0] = harness.products().filter((id) => id !== top);
    const beyond = { ...late, product_ids: [other] };
    expect(() => requestResync(sync, beyond)).toThrow('from 2027-04-20 is beyond the horizon');
    // Products that nobody has listed yet are priced like those of no category.
    expect(costOfResync(sync, { ...late, from: null }, 10, { listed: 100 }).calls).toBe(300);
  });

  it('without own reads prices a place in the list as one page, and the dates of named products alone', async () => {
    await using harness = await filledHarness(
      { lean: true, products: 30 },
      { service: { profile: { page_size: 5, paths: { product: null } } } },
    );
    const { sync } = harness.daemon;
    const [one = 0, ...others] = harness.products();
    sync.mirror.transaction(() => createPlacesInLists(sync, [one, ...others]));
    // Six pages of products, one each of experiences and tags, and the places.
    expect(costOfResync(sync, everything, 10).calls).toBe(6 + 2 + others.length + 1);
    requestResync(sync, everything);
    expect(harness.record(one, 'products')?.lane).toBe('notification');
    const all: ResyncRequest = { ...everything, resources: ['products', 'checkout'], product_ids: [one] };
    const cost = costOfResync(sync, all, 10, { listed: 500 });
    expect(cost).toMatchObject({ records: { products: 2, checkout_information: 1 }, calls: 100 + 2 + 1 + 1 });
  });

  it('that was interrupted goes on for a day, and begins anew after that', async () => {
    await using harness = await filled();
    const { daemon, clock } = harness;
    const first = requestResync(daemon.sync, everything);
    await harness.drive(clock.sleep(23 * hour));
    expect(requestResync(daemon.sync, everything, { resume: true })).toMatchObject({
      job_id: first.job_id,
      resumed: true,
    });
    await harness.drive(clock.sleep(2 * hour));
    const again = requestResync(daemon.sync, everything, { resume: true });
    expect(again.resumed).toBe(false);
    expect(again.job_id).not.toBe(first.job_id);
  });

  it('whose walk over the list was broken off goes on after the last page that was stored', async () => {
    const pages: number[] = [];
    const broken = new AbortController();
    await using harness = await filledHarness(
      {
        lean: true,
        products: 30,
        served: ({ path, query }) => {
          if (path !== '/v2/products') return;
          pages.push(Number(query.get('page')));
          if (pages.length === 3) broken.abort();
        },
      },
      { service: { profile: { page_size: 5 } } },
    );
    pages.length = 0;
    requestResync(harness.daemon.sync, everything);
    const run = (signal: AbortSignal) =>
      harness.drive(runSyncCycle(harness.daemon.sync, 1, { job_id: null, signal })).catch(() => undefined);
    await run(broken.signal);
    expect(pages).toEqual([1, 2, 3]);
    await run(new AbortController().signal);
    expect(pages.slice(3)).toEqual([3, 4, 5, 6]);
  });

  it('tries what always fails less and less often, and gives it up after the fifth time', async () => {
    await using harness = await filled();
    const [id = 0] = harness.products();
    harness.sandbox.faults.add({ kind: 'garbage', path: `^/v2/products/${id}/checkout` });
    const { job_id } = requestResync(harness.daemon.sync, {
      ...everything,
      resources: ['checkout'],
      product_ids: [id],
    });
    await harness.live(24 * hour);
    expect(harness.job(job_id)).toMatchObject({ left: 0, failed: 1 });
    expect(harness.record(id, 'checkout_information')?.failures).toBeLessThan(12);
  });

  it('asked for again counts only answers to calls that are sent after it was asked for', async () => {
    await using harness = await filled();
    const { daemon, clock, sandbox } = harness;
    const [slow = 0, other = 0] = harness.products();
    const request: ResyncRequest = { ...everything, resources: ['checkout'] };
    const fetched = (product_id: number) => harness.record(product_id, 'checkout_information')?.fetched_at ?? 0;
    const progress = (job_id: number) => harness.job(job_id);
    // All but one are read before the second request. The call for the last one is under way.
    sandbox.faults.add({ kind: 'delay', ms: 20_000, path: `/v2/products/${slow}/checkout` });
    const first = requestResync(daemon.sync, request);
    await harness.live(5000);
    expect(progress(first.job_id)).toMatchObject({ records: 3, left: 1 });
    sandbox.faults.clear();
    const asked = clock.now();
    const second = requestResync(daemon.sync, request);
    expect(second).toMatchObject({ resumed: false, records: 3, left: 3 });
    await harness.live(60_000);
    expect(progress(second.job_id)).toMatchObject({ records: 3, left: 0, failed: 0 });
    for (const product_id of [slow, other]) expect(fetched(product_id)).toBeGreaterThanOrEqual(asked);
    expect(progress(first.job_id)).toMatchObject({ left: 0, failed: 0 });
  });

  it('that took over a record is not told of the failure of an earlier read', async () => {
    await using harness = await filled();
    const { jobs, records } = harness.daemon.mirror.schedule;
    const request: ResyncRequest = { ...everything, resources: ['checkout'] };
    const first = requestResync(harness.daemon.sync, request);
    const [record] = records.dueOfJob({ now: harness.clock.now(), job_id: first.job_id, limit: 1 });
    if (record === undefined) throw new Error('nothing is due');
    const second = requestResync(harness.daemon.sync, request);
    harness.daemon.mirror.transaction(() => jobs.giveUp(record, first.job_id));
    expect(jobs.find({ job_id: second.job_id })).toMatchObject({ left: 3, failed: 0 });
    harness.daemon.mirror.transaction(() => jobs.giveUp(record, second.job_id));
    expect(jobs.find({ job_id: second.job_id })).toMatchObject({ left: 2, failed: 1 });
  });

  it('of one product is finished when its records are read, while a larger one goes on', async () => {
    await using harness = await filledHarness(
      { lean: true, products: 40 },
      {},
      { later: { budget: { requests_per_second: 5 } } },
    );
    const { daemon, clock } = harness;
    const request: ResyncRequest = { ...everything, resources: ['availability'] };
    const [product_id = 0] = harness.products();
    const all = requestResync(daemon.sync, request);
    const one = requestResync(daemon.sync, { ...request, product_ids: [product_id] });
    const job = (job_id: number) => harness.job(job_id);
    const cycle = runSyncCycle(daemon.sync, 1, { job_id: null, signal: new AbortController().signal });
    while ((job(one.job_id)?.left ?? 0) > 0) await harness.drive(clock.sleep(500));
    await harness.drive(clock.sleep(2500));
    expect(job(one.job_id)?.finished_at).toEqual(expect.any(Number));
    expect(job(all.job_id)).toMatchObject({ left: expect.toSatisfy((left: number) => left > 0), finished_at: null });
    await harness.drive(cycle);
    expect(job(all.job_id)).toMatchObject({ left: 0, finished_at: expect.any(Number) });
  });

  it('of one product that only the list brings walks the list', async () => {
    const asked: string[] = [];
    await using harness = await filled({ product: null }, asked);
    const { daemon } = harness;
    const [product_id = 0] = harness.products();
    const { job_id, records } = requestResync(daemon.sync, { ...everything, product_ids: [product_id] });
    expect(records).toBeGreaterThan(0);
    asked.length = 0;
    await harness.live(60_000);
    expect(asked).toContainEqual(expect.stringMatching(/^\/v2\/products(\?|$)/));
    expect(harness.job(job_id)).toMatchObject({ left: 0, failed: 0 });
  });

  it.each([
    ['all of it', resyncResources],
    ['its dates', ['availability'] as const],
  ])(
    'of %s of a product that has just closed succeeds, where its dates say so before its own read',
    async (_, resources) => {
      await using harness = await filled();
      const { daemon, clock, sandbox } = harness;
      const [product_id = 0] = harness.products();
      await harness.drive(clock.sleep(hour));
      sandbox.world.disable(product_id, { reason: 'temporary_closure' });
      sandbox.faults.add({ kind: 'delay', path: `/v2/products/${product_id}\\?`, ms: 3000, times: 1 });
      const { job_id } = requestResync(daemon.sync, { ...everything, resources, product_ids: [product_id] });
      await harness.live(5 * 60_000);
      expect(harness.job(job_id)).toMatchObject({
        left: 0,
        failed: 0,
        finished_at: expect.any(Number),
      });
      expect(harness.explain(product_id).sale_status).toBe('disabled');
    },
  );

  it('counts dates that contradict the own read of their product, also after it was asked again (control)', async () => {
    await using harness = await filled();
    const { daemon, sandbox } = harness;
    const [product_id = 0] = harness.products();
    sandbox.faults.add({
      kind: 'status',
      status: 400,
      body: '{"success":false,"error_code":"checkout_disabled","message":"Closed."}',
      path: `/v2/products/${product_id}/availability`,
    });
    const { job_id } = requestResync(daemon.sync, {
      ...everything,
      resources: ['availability'],
      product_ids: [product_id],
    });
    // The first answer that says so is asked a second time, a minute later.
    await harness.live(50_000);
    expect(harness.job(job_id)).toMatchObject({
      left: expect.toSatisfy((left: number) => left > 0),
    });
    await harness.live(190_000);
    const job = harness.job(job_id);
    expect({ left: job?.left, failed: (job?.failed ?? 0) > 0 }).toEqual({ left: 0, failed: true });
  });

  it('leaves out a product that the service no longer has: that is no failure', async () => {
    await using harness = await filled();
    const { daemon, clock, sandbox } = harness;
    const [product_id = 0] = harness.products();
    await harness.drive(clock.sleep(hour));
    for (const product of sandbox.products()) if (product.id === product_id) product.withdrawn = true;
    const { job_id, records } = requestResync(daemon.sync, { ...everything, resources: resyncResources });
    await harness.live(5 * 60_000);
    const job = harness.job(job_id);
    expect(job).toMatchObject({ left: 0, failed: 0 });
    expect(job?.records).toBeLessThan(records);
  });
});
