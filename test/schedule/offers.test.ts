import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import type { OptionalPath } from '../../src/schedule/offer.rules.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { someOf } from '../fakes/thorough.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const week = 7 * day;
const never = new AbortController().signal;
const everything = { resources: resyncResources, product_ids: [], from: null, to: null };
const lean = { lean: true, products: 12 };

const noProduct = { kind: 'status', status: 404, path: '^/v2/products/\\d+(\\?|$)' } as const;
const noExperiences = { kind: 'status', status: 405, path: '^/v2/experiences' } as const;
const noTags = { kind: 'status', status: 404, path: '^/v2/tags' } as const;

function missing({ daemon }: VirtualHarness): OptionalPath[] {
  return daemon.notOffered().map(({ path }) => path);
}

/** Calls that reached a path of the service. */
function asked(harness: VirtualHarness): { calls: number } {
  return { calls: harness.sandbox.calls.counts().calls };
}

function sql({ daemon }: VirtualHarness, text: string, values: Record<string, unknown>): void {
  const writer = otherWriter(daemon.config.mirror.path);
  writer.prepare(text).run(values);
  writer.close();
}

/** Fills the mirror, and lives on until a list that was refused has been asked a second time. */
async function filled(harness: VirtualHarness): Promise<void> {
  await harness.fill();
  await harness.live(2 * minute);
}

describe('a service with exactly the calls of the specification', () => {
  it('is mirrored to the end: nothing fails, nothing is withdrawn, and it is said once with the key to set', async () => {
    await using harness = await virtualHarness({ ...lean, faults: [noProduct, noExperiences, noTags] });
    const job = requestResync(harness.daemon.sync, everything);
    await filled(harness);
    expect(harness.job(job.job_id)).toMatchObject({ left: 0, failed: 0 });
    expect(missing(harness)).toEqual(['experiences', 'product', 'tags']);
    expect(harness.products().length).toBe(lean.products);
    expect(harness.status().records.failing).toBe(0);
    expect(harness.status().records.never_fetched).toBe(0);
    const said = harness.log.lines().filter((line) => JSON.stringify(line).includes('does not offer'));
    expect(said).toHaveLength(3);
    expect(JSON.stringify(said)).toContain('service.profile.paths.product: null');
    await harness.live(2 * day);
    expect(harness.daemon.mirror.catalogue.removals.absent()).toEqual([]);
    expect(harness.products().length).toBe(lean.products);
  });

  it('keeps no first fill waiting for a list that it lacks, which is asked a second time after a minute', async () => {
    await using harness = await virtualHarness({ ...lean, faults: [noExperiences, noTags] });
    const from = harness.clock.now();
    const paths = () => ['/v2/experiences', '/v2/tags'].map((path) => harness.sandbox.calls.counts().by_kind[path]);
    await harness.fill();
    expect(harness.status().records.never_fetched).toBe(0);
    expect(harness.clock.now() - from).toBeLessThan(30_000);
    expect([missing(harness), paths()]).toEqual([
      ['experiences', 'tags'],
      [1, 1],
    ]);
    await harness.live(3 * minute);
    expect([missing(harness), paths()]).toEqual([
      ['experiences', 'tags'],
      [2, 2],
    ]);
    await harness.live(day);
    expect(paths()).toEqual([2, 2]);
  });

  it('a list that was refused once by accident is read a minute later', async () => {
    await using harness = await virtualHarness({ ...lean, faults: [noTags] });
    await harness.fill();
    expect(missing(harness)).toEqual(['tags']);
    harness.sandbox.faults.clear();
    await harness.live(3 * minute);
    expect(missing(harness)).toEqual([]);
    expect(harness.status().records.never_fetched).toBe(0);
    const read = otherWriter(harness.daemon.config.mirror.path);
    expect(read.prepare('SELECT count(*) FROM tags').pluck().get()).toBeGreaterThan(0);
    read.close();
  });

  it('is not asked for it again before a week has passed, not even after a restart; then what answers is read again', async () => {
    await using harness = await virtualHarness({ ...lean, faults: [noProduct, noExperiences, noTags] });
    await filled(harness);
    await harness.restart();
    expect(missing(harness)).toEqual(['experiences', 'product', 'tags']);
    harness.sandbox.faults.clear();
    const before = asked(harness);
    await harness.drive(harness.daemon.sync.refusals.askMissing(never));
    expect(asked(harness)).toEqual(before);
    await harness.drive(harness.clock.sleep(week));
    await harness.drive(harness.daemon.sync.refusals.askMissing(never));
    expect(missing(harness)).toEqual([]);
    await harness.live(hour);
    const [id = 0] = harness.products();
    const detail = harness.record(id, 'product_detail');
    expect(detail).toMatchObject({ failures: 0, fetched_reason: 'never-fetched' });
    expect(harness.rows('SELECT DISTINCT experience_id FROM experiences').length).toBeGreaterThan(0);
  });

  it('is asked again after six hours where it has answered before, and what returns is read as before', async () => {
    await using harness = await virtualHarness(lean, { cadence: { products: '1h' } });
    await filled(harness);
    harness.sandbox.faults.add(noProduct);
    await harness.drive(harness.clock.sleep(2 * hour));
    sql(harness, "UPDATE _record SET due_at = 0 WHERE resource = 'product_detail'", {});
    await harness.live(hour / 60);
    expect(missing(harness)).toEqual(['product']);
    harness.sandbox.faults.clear();
    await harness.live(5 * hour);
    expect(missing(harness)).toEqual(['product']);
    await harness.live(2 * hour);
    expect(missing(harness)).toEqual([]);
    const [id = 0] = harness.products();
    const detail = harness.record(id, 'product_detail');
    expect(detail?.fetched_at).toBeGreaterThan(harness.clock.now() - 2 * hour);
  });

  it('still withdraws what really goes, by two lists and the read of checkout information', async () => {
    await using harness = await virtualHarness({ ...lean, faults: [noProduct] }, { cadence: { products: '1h' } });
    await filled(harness);
    const [gone] = harness.sandbox.world.visible();
    if (gone !== undefined) gone.withdrawn = true;
    await harness.live(3 * hour);
    expect(harness.products().includes(gone?.id ?? 0)).toBe(false);
    expect(harness.products().length).toBe(lean.products - 1);
  });
});

describe('a service that has the read of a single product', () => {
  it.each(someOf([6, 12, 40]))(
    'is not taken for one without, though five of %i are gone before the list says so (control)',
    async (products) => {
      await using harness = await virtualHarness({ lean: true, products }, { cadence: { products: '1h' } });
      const walk = { resource: 'products', edition: 'en/EUR' } as const;
      await harness.runUntil(() => harness.daemon.mirror.schedule.walks.find(walk)?.completed_at != null);
      for (const product of harness.sandbox.products().slice(0, 5)) product.withdrawn = true;
      await harness.live(5 * hour);
      expect(missing(harness)).toEqual([]);
      expect(harness.products().length).toBe(products - 5);
    },
  );
});

it('what the specification lists fails as ever: a service without checkout information is not filled by saying 404', async () => {
  const faults = [{ kind: 'status', status: 404, path: '/checkout_information' }] as const;
  await using harness = await virtualHarness({ ...lean, products: 8, faults });
  const job = requestResync(harness.daemon.sync, everything);
  await harness.live(hour / 30);
  expect(missing(harness)).toEqual([]);
  expect(harness.job(job.job_id).failed).toBe(8);
});
