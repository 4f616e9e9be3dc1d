import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import type { Need } from '../../src/daemon/needs.ts';
import { instant } from '../../src/kernel/clock.ts';
import { type JobWorld, jobWorld } from '../fakes/job-world.ts';

const day = 86_400_000;
const noon = instant(Date.parse('2026-11-21T12:00:00Z'));
const never = new AbortController().signal;

/** Jobs that write into the mirror. */
const writers = [
  'clock', 'receiver', 'check-flood', 'subscriptions', 'chores', 'offers', 'categories', 'audit', 'pass', 'pass-end',
  'check-counts', 'views', 'image-limits', 'image-files', 'optimise', 'retention', 'image-sweep',
]; // biome-ignore format: a list of names
const destructive = ['categories', 'image-limits', 'retention', 'image-sweep'];

/** Makes a need unmet, and lists the jobs that must then do nothing. */
const cases: readonly {
  readonly need: Need;
  readonly cause: (world: JobWorld) => unknown;
  readonly kept: readonly string[];
  readonly reason: RegExp;
}[] = [
  {
    need: 'mirror',
    cause: ({ daemon }) => rmSync(daemon.config.mirror.path),
    kept: [...writers, 'snapshot', 'backup'],
    reason: /mirror\.db/,
  },
  {
    need: 'inbox',
    cause: ({ daemon }) => rmSync(daemon.config.mirror.inbox_path),
    kept: ['feed-witness', 'deliveries', 'search-counts', 'optimise', 'retention'],
    reason: /inbox\.db/,
  },
  {
    need: 'leads',
    cause: ({ daemon }) => Object.assign(daemon, { sharing: { leadership: { trusted: () => false } } }),
    kept: writers,
    reason: /this instance leads/,
  },
  {
    need: 'time',
    cause: ({ daemon }) => Object.assign(daemon.watch, { observe: () => false }),
    kept: ['subscriptions', 'chores', 'offers', 'audit', 'pass', 'pass-end', 'image-files'],
    reason: /time is unknown/,
  },
  {
    need: 'certain-time',
    cause: ({ machine }) => {
      machine.offset_ms = 4100 * day;
    },
    kept: destructive,
    reason: /clock is in doubt/,
  },
  {
    need: 'key',
    cause: async ({ sandbox, drive, daemon }) => {
      sandbox.faults.add({ kind: 'status', status: 401 });
      const of = {
        resources: ['variants'],
        product_ids: daemon.mirror.catalogue.products.ids(),
        from: null,
        to: null,
      } as const;
      requestResync(daemon.sync, of);
      await drive(runSyncCycle(daemon.sync, 1, { job_id: null, signal: never }));
    },
    kept: ['audit', 'pass'],
    reason: /refuses the key/,
  },
];

it.each(cases)('without $need these jobs do nothing and report why, and all others run', async (each) => {
  await using world = await jobWorld({ start: noon, at: '30 12 * * *', works: ['deliveries'] });
  await each.cause(world);
  const kept: string[] = [];
  for (const { name } of world.daemon.schedule.list()) {
    const before = world.daemon.schedule.list().find((job) => job.name === name);
    const ran = await world.drive(world.daemon.schedule.run(name));
    if (ran === null) throw new Error(`no job ${name}`);
    if (ran.kept_from === null) {
      expect([name, ran.runs]).toEqual([name, (before?.runs ?? 0) + 1]);
      continue;
    }
    expect([name, ran.runs]).toEqual([name, before?.runs]);
    expect(ran.kept_from).toMatch(each.reason);
    kept.push(name);
  }
  expect(kept.sort()).toEqual([...each.kept].sort());
});
