import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { notFailing } from '../../src/files/failing.rules.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { withConditions } from '../../src/says/status/verdict.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const everything = { resources: resyncResources, product_ids: [], from: null, to: null };

/** 23 products on three pages of ten rows. */
const products = 23;
const pages = { service: { profile: { authorization: { header: null }, page_size: 10 } } };
const list = '^/v2/products\\?.*page=';

/** Leaves out the last ten products: page 2 has three rows, and page 3 none. */
const truncated: readonly FaultRule[] = [
  { kind: 'fewer-rows', path: `${list}2`, rows: 3 },
  { kind: 'fewer-rows', path: `${list}3`, rows: 0 },
];
const counting = (rows: number, path = '^/v2/products\\?'): FaultRule => ({ kind: 'more-counted', path, rows });

async function served(faults: readonly FaultRule[], config: Record<string, unknown> = {}): Promise<VirtualHarness> {
  return await virtualHarness({ lean: true, products, faults }, { ...pages, ...config });
}

/** The condition as people see it, with what breaks the promise of the products. */
function seen(harness: VirtualHarness) {
  const status = harness.status();
  const none = { daemon: null, inbox: null, files: null, storage: null, jobs: null, snapshot: null, database: null };
  const backup = { late: 0, ...notFailing, made_at: 1, directory: '', tried_at: null, tried_failure: null } as const;
  const { conditions } = withConditions({ ...status, ...none, backup }, harness.clock.now());
  const found = conditions.find(({ code }) => code === 'list-incomplete');
  return {
    says: found?.says ?? null,
    severity: found?.severity ?? null,
    others: conditions.filter(({ code }) => code !== 'list-incomplete').map(({ code }) => code),
    kept: status.freshness.find(({ resource }) => resource === 'products')?.met ?? null,
  };
}

const filled = ({ isFilled }: VirtualHarness) => isFilled();
const walked = ({ sandbox }: VirtualHarness) => sandbox.calls.counts().by_kind['/v2/products'] ?? 0;

async function resynced(harness: VirtualHarness) {
  const { job_id } = requestResync(harness.daemon.sync, everything);
  await harness.runUntil(() => harness.job(job_id).left === 0);
  return harness.job(job_id);
}

describe('a list with fewer rows than the service counts', () => {
  it('is no fill and fails a resync, and says how many; whole again, it is walked within the hour and everything is equal', async () => {
    await using harness = await served(truncated);
    expect((await resynced(harness))?.failed).toBe(1);
    await harness.live(20 * minute);
    expect(filled(harness)).toBe(false);
    expect(seen(harness)).toEqual({
      says: 'the list is incomplete: 13 of 23 products',
      severity: 'error',
      others: [],
      kept: 0,
    });
    expect(harness.status().failures).toEqual([
      { resource: 'products', failure: 'list-incomplete: 13 of 23 products', records: 1 },
    ]);
    harness.sandbox.faults.clear();
    await harness.live(hour);
    expect([filled(harness), seen(harness)]).toEqual([true, { says: null, severity: null, others: [], kept: 1 }]);
    await harness.live(hour);
    expect((await harness.compare()).first).toEqual([]);
  });

  it('is taken as it is once three lists half an hour apart lack the same, also over restarts; the condition stays, as a warning', async () => {
    await using harness = await served([counting(4)]);
    await harness.live(50 * minute);
    expect(filled(harness)).toBe(false);
    for (let hours = 0; hours < 3; hours += 1) {
      await harness.restart();
      await harness.live(hour);
    }
    expect(filled(harness)).toBe(true);
    expect(seen(harness)).toEqual({
      says: 'the list is incomplete: 23 of 27 products',
      severity: 'warning',
      others: [],
      kept: 1,
    });
    expect(await harness.compare()).toMatchObject({ differences: 0 });
    // From then on a walk a day.
    const before = walked(harness);
    await harness.live(3 * day);
    expect(walked(harness) - before).toBeLessThan(4 * 4);
    expect(seen(harness).severity).toBe('warning');
  });

  it('stays taken as it is while the catalogue changes, and is an error again where it lacks more', async () => {
    await using harness = await served([counting(4)], { cadence: { products: '1h' } });
    await harness.live(4 * hour);
    expect(filled(harness)).toBe(true);
    const [first] = harness.sandbox.products();
    if (first !== undefined) first.withdrawn = true;
    await harness.live(2 * hour);
    expect(seen(harness)).toMatchObject({ says: 'the list is incomplete: 22 of 26 products', severity: 'warning' });
    // It says nothing about what is absent.
    expect(harness.products().length).toBe(products);
    expect(harness.daemon.mirror.catalogue.removals.absent()).toEqual([]);
    harness.sandbox.faults.clear();
    harness.sandbox.faults.add(counting(5));
    await harness.live(2 * hour);
    expect(seen(harness)).toMatchObject({
      says: 'the list is incomplete: 22 of 27 products',
      severity: 'error',
      kept: 0,
    });
  });

  it('is incomplete too where an empty page in its middle counts nothing, and where its pages count differently', async () => {
    await using emptied = await served([{ kind: 'empty-list', path: `${list}2` }]);
    await emptied.live(10 * minute);
    expect([filled(emptied), seen(emptied).says]).toEqual([false, 'the list is incomplete: 10 of 23 products']);
    // The most that any page counts is believed.
    await using repeated = await served([
      { kind: 'fewer-rows', path: `${list}1`, rows: 9 },
      counting(30, `${list}[^1]`),
    ]);
    await repeated.live(10 * minute);
    expect([filled(repeated), seen(repeated).says]).toEqual([false, 'the list is incomplete: 22 of 53 products']);
  });

  it('of a further language, or of experiences, fails like any other record and is named: only the first fill does not wait for it', async () => {
    const two = { service: { ...pages.service, languages: ['en', 'nl'] } };
    await using harness = await served(
      [counting(3, '^/v2/products\\?.*lang=nl'), counting(2, '^/v2/experiences')],
      two,
    );
    expect((await resynced(harness))?.failed).toBe(2);
    await harness.live(40 * minute);
    expect(filled(harness)).toBe(true);
    expect(seen(harness)).toMatchObject({ severity: 'error', others: [], kept: 0 });
    expect(seen(harness).says).toMatch(
      /^the list is incomplete: \d+ of \d+ products in nl\/EUR; \d+ of \d+ experiences$/,
    );
    expect(harness.status().freshness.find(({ resource }) => resource === 'experiences')?.met).toBe(0);
  });
});

describe('rows that cannot be used', () => {
  it('leave the mirror unfilled for ever where all are, and the condition shows one', async () => {
    await using harness = await served([{ kind: 'renamed', path: '^/v2/products\\?' }]);
    expect((await resynced(harness))?.failed).toBeGreaterThan(0);
    await harness.live(day);
    expect(filled(harness)).toBe(false);
    expect(seen(harness)).toMatchObject({ severity: 'error', others: [] });
    expect(seen(harness).says).toMatch(
      /^the list is incomplete: 0 of 23 products; 23 rows could not be used: row without id, it has product_id, /,
    );
  });

  it('are missing where they are few, hold up the first fill until three lists agree, and make no product doubtful', async () => {
    await using harness = await served([], { cadence: { products: '1h' } });
    await harness.runUntil(() => filled(harness));
    harness.sandbox.faults.add({ kind: 'renamed', path: `${list}3`, rows: 2 });
    await harness.live(2 * hour);
    expect(seen(harness).says).toMatch(
      /^the list is incomplete: 21 of 23 products; 2 rows could not be used: row without id/,
    );
    expect(harness.products().length).toBe(products);
    await using first = await served([{ kind: 'renamed', path: `${list}3`, rows: 2 }]);
    await first.live(20 * minute);
    expect([filled(first), seen(first).severity]).toEqual([false, 'error']);
    await first.live(4 * hour);
    expect([filled(first), seen(first).severity]).toEqual([true, 'warning']);
  });
});
