import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { filledHarness, type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';

const never = new AbortController().signal;

/** Another program that has begun to write the mirror. Disposing ends its transaction. */
function lock({ daemon }: Pick<VirtualHarness, 'daemon'>): Disposable {
  const db = new Database(daemon.config.mirror.path);
  db.exec('BEGIN IMMEDIATE');
  return { [Symbol.dispose]: () => void db.close() };
}

async function filled(products: number): Promise<VirtualHarness> {
  const harness = await filledHarness({ products });
  harness.daemon.writer.serve();
  return harness;
}

describe('a pass that meets another writer', () => {
  it('ends with that; no record has failed, and all of them are found due again', async () => {
    await using harness = await filled(6);
    const { daemon } = harness;
    const { records } = requestResync(daemon.sync, {
      resources: resyncResources,
      product_ids: [],
      from: null,
      to: null,
    });
    const run = () =>
      harness.drive(runSyncCycle(daemon.sync, daemon.config.budget.concurrency, { job_id: null, signal: never }));
    {
      using _ = lock(harness);
      await expect(run()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    }
    expect(daemon.mirror.schedule.records.isAnyUnread()).toBe(false);
    const failing = new Database(daemon.config.mirror.path, { readonly: true });
    expect(
      failing.prepare('SELECT count(*) FROM _record WHERE failures > 0 OR failure IS NOT NULL').pluck().get(),
    ).toBe(0);
    failing.close();
    const { stored, failed } = await run();
    expect({ failed, all: stored >= records }).toEqual({ failed: 0, all: true });
    expect((await harness.compare()).differences).toBe(0);
  });

  it('reads only what is urgent while there is no room for more', async () => {
    await using harness = await virtualHarness({ products: 6 });
    const { daemon } = harness;
    const calm = await harness.drive(
      runSyncCycle(daemon.sync, daemon.config.budget.concurrency, {
        job_id: null,
        signal: never,
        mayBulk: () => false,
      }),
    );
    expect(calm.stored).toBe(0);
    expect(
      (
        await harness.drive(
          runSyncCycle(daemon.sync, daemon.config.budget.concurrency, { job_id: null, signal: never }),
        )
      ).stored,
    ).toBeGreaterThan(0);
  });
});

describe('jobs that find nothing to do', () => {
  /** The jobs of every second and minute that wait for another writer, each run once. */
  async function heldUp({ clock, drive, ...harness }: VirtualHarness): Promise<string[]> {
    const { schedule } = harness.daemon;
    const names: string[] = [];
    for (const { name, every_ms } of schedule.list()) {
      if (every_ms === null || every_ms > 60_000) continue;
      const other = lock(harness);
      const run = schedule.run(name);
      await drive(clock.sleep(10));
      if (schedule.list().some((job) => job.name === name && job.running === 1)) names.push(name);
      other[Symbol.dispose]();
      await drive(run);
    }
    return names;
  }

  it('need no lock: another writer holds none of them up', async () => {
    await using harness = await filled(6);
    await harness.live(60_000, 1000);
    expect(await heldUp(harness)).toEqual([]);
  });

  it('need one as soon as there is something (control)', async () => {
    await using harness = await filled(6);
    const { mirror } = harness.daemon;
    await harness.live(60_000, 1000);
    mirror.status.outcomes.note('live-checks', harness.clock.now(), { affected: 1 });
    expect(await heldUp(harness)).toEqual(['check-flood']);
    expect(mirror.status.outcomes.all()).toMatchObject([{ failed_at: null }]);
  });
});
