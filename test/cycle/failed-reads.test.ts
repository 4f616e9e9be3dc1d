import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { comparedViews } from '../oracle/expected.ts';

/** Every cell that a storefront can see, but for the instants of the reads. */
function cells({ daemon, clock }: VirtualHarness): unknown[] {
  const db = openMirrorAt(daemon.config.mirror.path, clock.now());
  const rows = comparedViews.map((view) =>
    db
      .prepare<[], Record<string, unknown>>(`SELECT * FROM ${view}`)
      .all()
      .map(({ checked_at: _, changed_at: __, verified_at: ___, expires_at: ____, expired_at: _____, ...row }) => row),
  );
  db.close();
  return rows;
}

const everything = { resources: resyncResources, product_ids: [], from: null, to: null };

describe('a read that cannot be used', () => {
  const faults: [string, Omit<FaultRule, 'path'>, string][] = [
    ['HTML with a 200', { kind: 'html' }, 'not-json-type'],
    ['half a body', { kind: 'truncate' }, 'truncated'],
    ['a cut body whose prefix is valid JSON', { kind: 'truncate-valid' }, 'truncated'],
    ['20 kB that inflate to 20 MB', { kind: 'gzip-bomb' }, 'too-large'],
    ['40 MB', { kind: 'huge' }, 'too-large'],
    ['success: false', { kind: 'success-false' }, 'wrong-shape'],
    ['an answer without its array', { kind: 'missing-array' }, 'wrong-shape'],
    ['a redirect', { kind: 'redirect' }, 'redirect'],
    ['garbage', { kind: 'garbage' }, 'not-json'],
    ['bytes that are no UTF-8', { kind: 'invalid-utf8' }, 'invalid-utf8'],
    ['another content type', { kind: 'wrong-type' }, 'not-json-type'],
    ['a 500', { kind: 'status', status: 500 }, 'status-500'],
    ['a broken connection', { kind: 'reset' }, 'reset'],
    [
      'a 404',
      { kind: 'status', status: 404, body: '{"success":false,"error_code":"not_found","message":"No."}' },
      'not_found',
    ],
  ];
  it.each(someOf(faults))('(%s) keeps the old copy and is counted', async (_, fault, code) => {
    await using harness = await filledHarness({ products: 5 });
    const before = cells(harness);
    // Where the service breaks down altogether, no record is at fault: the first few count, then it is waited for.
    const breaks = fault.status !== 404;
    const least = breaks ? 4 : 30;
    harness.sandbox.faults.add({ ...fault, path: '^/v2/products/\\d+', ...(breaks ? { times: 40 } : {}) });
    requestResync(harness.daemon.sync, everything);
    const { signal } = new AbortController();
    const result = await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal }));
    expect(result.failed).toBeGreaterThanOrEqual(least);
    expect(harness.log.lines().filter((line) => line.code === code).length).toBeGreaterThanOrEqual(least);
    expect(cells(harness)).toEqual(before);
  });

  it('of one product never stops the others, and is tried again until it heals', async () => {
    await using harness = await virtualHarness({ products: 20 });
    const [broken] = harness.sandbox.world.visible().map(({ id }) => id);
    harness.sandbox.faults.add({ kind: 'status', status: 500, path: `/${broken}/`, times: 12 });
    await harness.fill();
    expect(harness.log.lines().filter(({ failures }) => failures !== undefined)).toHaveLength(12);
    expect(await harness.compare()).toMatchObject({ differences: 0, first: [] });
  });
});

it('a product that comes back on sale has its dates read at once', async () => {
  await using harness = await filledHarness({ products: 40 });
  const product = harness.sandbox.products().find(({ status }) => status === 'unavailable');
  if (product === undefined) throw new Error('nothing is disabled in this catalogue');
  Object.assign(product, { status: 'available', reason: null, reopen: null });
  requestResync(harness.daemon.sync, { ...everything, resources: ['images'] });
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: new AbortController().signal }));
  await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal: new AbortController().signal }));
  expect((await harness.compare()).first).toEqual([]);
});
