import { setImmediate } from 'node:timers/promises';
import { reassignCategories, runChores } from '../cycle/chores.ts';
import { completePass, runSyncCycle } from '../cycle/sync-cycle.ts';
import { pruneCounts } from '../desk/counts.ts';
import { orderMemoryMs } from '../desk/orders.ts';
import { dayMs, hourMs, instant, minuteMs } from '../kernel/clock.ts';
import { wallClock } from '../kernel/time/wall-clock.ts';
import { type SubscriptionWork, undeclare } from '../push/subscriptions.ts';
import { surveyDueAt } from '../schedule/call-value.ts';
import type { Sync } from '../schedule/sync.ts';
import { interestMemoryMs } from '../schedule/weights.ts';
import { auditMemoryMs } from '../trust/error-estimate.rules.ts';
import type { Daemon } from './context.ts';
import { witnessFeed } from './files.ts';
import type { Mirroring } from './mirroring.ts';
import type { Need } from './needs.ts';
import type { Job } from './schedule.ts';

/** Milliseconds for which periods of conditions and searches without results are kept. */
const memoryMs = 90 * dayMs;

/**
 * Once an hour records what is on sale, deletes data older than its retention, and compares the rules of time zones.
 * Returns the disk space that a flood of deliveries has used.
 */
function retentionJob(daemon: Daemon): Job {
  const { config, sync, inbox, sharing, zones } = daemon;
  return {
    name: 'retention',
    every: hourMs,
    // Data deleted because of a wrong clock is lost for good.
    needs: ['mirror', 'inbox', 'leads', 'writing', 'certain-time'],
    run: async (signal) => {
      await recordOnSale(daemon);
      prune(daemon);
      zones.look();
      await sharing?.deliveries
        .prune(sync.clock.now() - config.retention.deliveries)
        .catch((error: unknown) => sync.log.warn({ err: error }, 'old deliveries stay in the database'));
      while (!signal.aborted && inbox.deliveries.shrink()) await setImmediate();
    },
  };
}

async function recordOnSale({ status, mirror }: Daemon): Promise<void> {
  const { filled_at, as_of, products, bookable } = await status.counted();
  if (filled_at === null) return;
  const counted = { counted_at: instant(as_of), sellable: products.sellable, days: bookable.days };
  mirror.transaction(() => mirror.status.onSale.record(counted));
}

function prune({ mirror, inbox, sync, config }: Daemon): void {
  const now = sync.clock.now();
  const ago = (ms: number) => instant(now - ms);
  mirror.transaction(() => {
    const before = ago(config.retention.changes);
    mirror.changes.prune(before, config.retention.changes_bytes);
    pruneCounts(mirror, before);
    mirror.audits.prune({ before: ago(auditMemoryMs) });
    mirror.schedule.interest.prune({ before: ago(interestMemoryMs) });
    mirror.catalogue.images.prune(before);
    mirror.push.closures.prune({ before });
    mirror.rows.prune(now);
  });
  inbox.deliveries.prune(ago(config.retention.deliveries));
  inbox.orders.prune(ago(orderMemoryMs));
  inbox.conditions.prune(ago(memoryMs));
  inbox.searches.prune(Math.floor((now - memoryMs) / dayMs));
}

const second = 1000;

/** A job that reacts to the results of other jobs. A daemon runs it at each tick; virtual time skips ticks for it. */
const reactsOnly = { workAt: () => null };

/** Needs of a job that writes into the mirror. */
const writes = ['mirror', 'leads', 'writing'] as const satisfies Need[];

/**
 * Returns the daemon's schedule: all work it does on its own. The test harnesses run this very list, so that a month of
 * virtual time tests the daemon's own schedule. Jobs due at the same instant begin in this order: the sync cycle reads
 * what the housekeeping of the same second made due.
 */
export function jobsOf(daemon: Daemon): Job[] {
  const { snapshots, backups, checks, images, doubts, receiving, floods, fruitless } = daemon;
  const { config, sync, mirror, inbox, files, writer, watch, subscriptions, conditions, status } = daemon;
  const { clock, refusals } = sync;
  /** Without a receiver this job has nothing to do. */
  const receives = receiving === null ? reactsOnly : {};
  const copying = receiving?.copying ?? null;
  const work = receiving !== null && 'work' in subscriptions ? subscriptions.work : null;
  const maintenance = wallClock(config.maintenance);
  return [
    { name: 'disk', every: second, needs: [], ...reactsOnly, run: async () => writer.look() },
    {
      name: 'clock',
      every: second,
      needs: writes,
      ...reactsOnly,
      run: async (signal) => void (await watch.look(signal)),
    },
    {
      name: 'feed-witness',
      every: minuteMs,
      needs: ['inbox'],
      ...reactsOnly,
      run: async () => witnessFeed(mirror, inbox, sync.log),
    },
    { name: 'receiver', every: minuteMs, needs: writes, ...receives, run: async () => receiving?.maintain() },
    // Copies what other instances received. The leader's own deliveries are copied at once.
    ...(copying === null
      ? []
      : [{ name: 'deliveries', every: second, needs: ['inbox'] as const, run: () => copying.copy() }]),
    { name: 'check-flood', every: minuteMs, needs: writes, ...reactsOnly, run: async () => floods() },
    subscriptionsJob(work, sync),
    {
      name: 'chores',
      every: minuteMs,
      needs: [...writes, 'time'],
      asks_service: true,
      // Everything else reacts to reads and deliveries.
      workAt: () => (mirror.schedule.targets.replannedTo() === null ? surveyDueAt(sync) : clock.now()),
      run: (signal) => runChores(sync, signal),
    },
    {
      name: 'offers',
      every: minuteMs,
      needs: [...writes, 'time'],
      asks_service: true,
      ...reactsOnly,
      run: (signal) => refusals.askMissing(signal),
    },
    {
      name: 'categories',
      every: hourMs,
      needs: [...writes, 'certain-time'],
      run: (signal) => reassignCategories(sync, signal),
    },
    // Before the sync cycle, because it measures the data shown until then.
    {
      name: 'audit',
      every: second,
      needs: [...writes, 'time', 'key'],
      asks_service: true,
      workAt: () => daemon.audits.nextAt(),
      run: (signal) => daemon.audits.run(signal),
    },
    passJob(daemon),
    // The change feed continues while nothing is read: notifications and people change the mirror too.
    {
      name: 'pass-end',
      every: second,
      needs: [...writes, 'time'],
      workAt: () => (refusals.keyRefused() !== null && mirror.changes.isPassOpen() ? clock.now() : null),
      run: async () => {
        if (refusals.keyRefused() !== null) completePass(sync);
      },
    },
    {
      name: 'doubts',
      every: 5 * second,
      needs: [],
      asks_service: true,
      ...reactsOnly,
      run: async (signal) => {
        await refusals.tryKey(signal);
        await doubts.ask(signal);
      },
    },
    {
      name: 'outage',
      every: 5 * second,
      needs: [],
      ...reactsOnly,
      run: (signal) => conditions.lookForService(status.shown, signal),
    },
    {
      name: 'snapshot',
      every: second,
      needs: ['mirror'],
      ...reactsOnly,
      run: snapshots.publishDue,
      trouble: () => snapshots.failing().failure,
    },
    { name: 'check-counts', every: second, needs: writes, ...reactsOnly, run: async () => checks.counter.flush() },
    { name: 'views', every: minuteMs, needs: writes, ...reactsOnly, run: () => checks.views.flush() },
    {
      name: 'search-counts',
      every: minuteMs,
      needs: ['inbox', 'writing'],
      ...reactsOnly,
      run: async () => fruitless.flush(),
    },
    // Separate from the housekeeping, so that forbidden images do not wait for it. No file is removed while the clock
    // is in doubt, because the time decides which ones may stay.
    {
      name: 'image-limits',
      every: minuteMs,
      at_start: true,
      needs: [...writes, 'certain-time'],
      ...reactsOnly,
      run: (signal) => images.maintain(signal),
    },
    {
      name: 'image-files',
      every: second,
      needs: [...writes, 'time'],
      asks_service: true,
      ...reactsOnly,
      run: (signal) => images.fetch(signal),
    },
    { name: 'start-check', every: minuteMs, needs: [], ...reactsOnly, run: files.checkSkipped },
    ...backupJob(daemon),
    {
      name: 'restore-drill',
      every: hourMs,
      needs: [],
      ...reactsOnly,
      run: backups.drillDue,
      trouble: backups.drillFailure,
    },
    {
      name: 'optimise',
      at: maintenance,
      needs: [...writes, 'inbox'],
      doneAt: files.checkedAt,
      run: async () => {
        mirror.optimise();
        inbox.optimise();
      },
    },
    {
      name: 'integrity',
      at: maintenance,
      needs: [],
      doneAt: files.checkedAt,
      run: files.checkAll,
      trouble: files.notChecked,
    },
    retentionJob(daemon),
    // Also at the start: it cleans up what an earlier process left behind.
    {
      name: 'image-sweep',
      every: hourMs,
      at_start: true,
      needs: [...writes, 'certain-time'],
      run: () => images.sweep(),
    },
    // After all other jobs, whose results it reads.
    {
      name: 'conditions',
      every: minuteMs,
      needs: [],
      ...reactsOnly,
      run: (signal) => conditions.look(status.counted, signal),
      trouble: () => conditions.failure(),
    },
  ];
}

function backupJob({ config, backups }: Daemon): Job[] {
  const { at, zone } = config.backup;
  if (at === null) return [];
  return [
    {
      name: 'backup',
      at: wallClock({ at, zone }),
      needs: ['mirror'],
      doneAt: backups.madeAt,
      run: backups.make,
      trouble: () => backups.failing().failure,
    },
  ];
}

/**
 * Returns the job that keeps the service's subscriptions as declared. `work` null: none is declared, or nothing is
 * received, so that none counts as declared any more.
 */
export function subscriptionsJob(work: SubscriptionWork | null, sync: Sync): Job {
  return {
    name: 'subscriptions',
    every: minuteMs,
    needs: [...writes, 'time'],
    ...(work === null ? reactsOnly : {}),
    // Also at the start, when the receiver listens already: the service may wait for a rotation that a kill
    // interrupted.
    at_start: true,
    asks_service: true,
    run: async (signal) => (work === null ? undeclare(sync) : work.maintain(signal)),
  };
}

/** Returns the job that reads all due records, and ends the sync cycle in the change feed. */
function passJob({ config, sync, mirror, writer }: Mirroring): Job {
  return {
    name: 'pass',
    every: second,
    needs: [...writes, 'time', 'key'],
    asks_service: true,
    // Also while the key is refused: due records stay due.
    workAt: () => (mirror.changes.isPassOpen() ? sync.clock.now() : mirror.schedule.records.nextDueAt(null)),
    run: async (signal) => {
      const result = await runSyncCycle(sync, config.budget.concurrency, {
        job_id: null,
        signal,
        mayBulk: () => !writer.isLow,
      });
      if (result.stored + result.failed > 0) sync.log.info({ ...result }, 'pass ended');
      mirror.checkpoint(writer.isLow ? 'tight' : 'plenty');
    },
  };
}
