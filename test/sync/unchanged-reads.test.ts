import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runSyncCycle } from '../../src/sync/engine.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const frame = 24 + 4096;

/** Counts the commits in the write-ahead log: frames that name the size of the file after them. */
function commits({ daemon }: VirtualHarness): number {
  const wal = readFileSync(`${daemon.config.mirror.path}-wal`);
  const salt = wal.subarray(16, 24);
  let count = 0;
  // Frames of an earlier round of the log have other salts.
  for (let at = 32; at + frame <= wal.length && wal.subarray(at + 8, at + 16).equals(salt); at += frame)
    if (wal.readUInt32BE(at + 4) > 0) count += 1;
  return count;
}

async function readAllDates(harness: VirtualHarness): Promise<{ reads: number; commits: number }> {
  const { daemon, sandbox } = harness;
  const { calls } = sandbox.calls.counts();
  const before = commits(harness);
  requestResync(daemon.sync, { resources: ['availability'], product_ids: [], from: null, to: null });
  const never = new AbortController().signal;
  const { failed } = await harness.drive(runSyncCycle(daemon.sync, 4, { job_id: null, signal: never }));
  expect(failed).toBe(0);
  return { reads: sandbox.calls.counts().calls - calls, commits: commits(harness) - before };
}

it('reads are stored several at a time, those that find nothing changed many', async () => {
  await using harness = await filledHarness({ products: 20, counts: 'none' });
  const same = await readAllDates(harness);
  expect(same.reads).toBeGreaterThan(40);
  expect(same.commits).toBeLessThan(same.reads / 10);
  expect((await harness.compare()).first).toEqual([]);

  // Each that changes something takes a while, in which nothing else is done: not many of those.
  for (const product of harness.sandbox.products()) product.price += 100;
  const changed = await readAllDates(harness);
  expect(changed.commits).toBeLessThan(changed.reads / 3);
  expect(changed.commits).toBeGreaterThan(changed.reads / 10);
});
