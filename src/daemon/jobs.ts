import { wallClock } from '../domain/time/wall-clock.ts';
import { reassignCategories, runChores } from '../sync/chores.ts';
import { completePass, pass } from '../sync/engine.ts';
import { surveyDueAt } from '../sync/records/pricing.ts';
import type { SubscriptionWork } from '../sync/subscriptions/work.ts';
import type { Need } from './needs.ts';
import { witnessFeed } from './open-files.ts';
import type { Parts } from './parts.ts';
import { retentionJob } from './retention.ts';
import type { Job } from './schedule.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A job that never has work of its own: it reacts to what other jobs bring about. */
const looks = { workAt: () => null };

/** Needs of a job that writes into the mirror. */
const writes = ['mirror', 'leads', 'writing'] as const satisfies Need[];

/**
 * Returns the daemon's schedule: everything it does unasked. The test harnesses run this very list, so that a month of
 * virtual time tests the daemon's own schedule. Jobs that fall on one instant begin in this order: the pass reads what
 * the chores of the same second made due.
 */
export function jobsOf(parts: Parts): Job[] {
  const { wiring, snapshots, backups, checks, images, doubts, receiving, floods, fruitless } = parts;
  const { config, ports, mirror, inbox, files, storage, watch, subscriptions } = wiring;
  const { clock, refusals } = ports;
  /** Without a receiver this job has nothing to do. */
  const receives = receiving === null ? looks : {};
  const work = receiving !== null && 'work' in subscriptions ? subscriptions.work : null;
  const maintenance = wallClock(config.maintenance);
  return [
    { name: 'disk', every: second, needs: [], ...looks, run: async () => storage.look() },
    { name: 'clock', every: second, needs: writes, ...looks, run: async (signal) => void (await watch.look(signal)) },
    {
      name: 'feed-witness',
      every: minute,
      needs: ['inbox'],
      ...looks,
      run: async () => witnessFeed(mirror, inbox, ports.log),
    },
    { name: 'receiver', every: minute, needs: writes, ...receives, run: async () => receiving?.maintain() },
    // What other instances received; what comes to the leader itself is copied at once.
    ...(receiving?.copying == null
      ? []
      : [{ name: 'deliveries', every: second, needs: ['inbox'] as const, run: receiving.copying.copy }]),
    { name: 'check-flood', every: minute, needs: writes, ...looks, run: async () => floods() },
    subscriptionsJob(work),
    {
      name: 'chores',
      every: minute,
      needs: [...writes, 'time'],
      asks_service: true,
      // Everything else reacts to reads and deliveries.
      workAt: () => (mirror.promises.replannedTo() === null ? surveyDueAt(ports) : clock.now()),
      run: (signal) => runChores(ports, signal),
    },
    {
      name: 'offers',
      every: minute,
      needs: [...writes, 'time'],
      asks_service: true,
      ...looks,
      run: (signal) => refusals.askMissing(signal),
    },
    {
      name: 'categories',
      every: hour,
      needs: [...writes, 'certain-time'],
      run: (signal) => reassignCategories(ports, signal),
    },
    // Before the pass: it measures what is shown until then.
    {
      name: 'audit',
      every: second,
      needs: [...writes, 'time', 'key'],
      asks_service: true,
      workAt: () => parts.audits.nextAt(),
      run: (signal) => parts.audits.run(signal),
    },
    passJob(parts),
    // The change feed goes on while nothing is read: notifications and people change the mirror too.
    {
      name: 'pass-end',
      every: second,
      needs: [...writes, 'time'],
      workAt: () => (refusals.keyRefused() !== null && mirror.changes.isPassOpen() ? clock.now() : null),
      run: async () => {
        if (refusals.keyRefused() !== null) completePass(ports);
      },
    },
    {
      name: 'doubts',
      every: 5 * second,
      needs: [],
      asks_service: true,
      ...looks,
      run: async (signal) => {
        await refusals.tryKey(signal);
        await doubts.ask(signal);
      },
    },
    {
      name: 'outage',
      every: 5 * second,
      needs: [],
      ...looks,
      run: (signal) => parts.conditions.lookForService(() => parts.status(0), signal),
    },
    {
      name: 'snapshot',
      every: second,
      needs: ['mirror'],
      ...looks,
      run: snapshots.publishDue,
      trouble: snapshots.failure,
    },
    { name: 'check-counts', every: second, needs: writes, ...looks, run: async () => checks.counter.flush() },
    { name: 'views', every: minute, needs: writes, ...looks, run: () => checks.views.flush() },
    { name: 'search-counts', every: minute, needs: ['inbox', 'writing'], ...looks, run: async () => fruitless.flush() },
    // Separate from the chores: images that must go do not wait for them. While the clock is in doubt no file goes: which
    // ones may stay depends on the time.
    {
      name: 'image-limits',
      every: minute,
      at_start: true,
      needs: [...writes, 'certain-time'],
      ...looks,
      run: (signal) => images.maintain(signal),
    },
    {
      name: 'image-files',
      every: second,
      needs: [...writes, 'time'],
      asks_service: true,
      ...looks,
      run: (signal) => images.fetch(signal),
    },
    { name: 'start-check', every: minute, needs: [], ...looks, run: files.checkSkipped },
    ...backupJob(parts),
    { name: 'restore-drill', every: hour, needs: [], ...looks, run: backups.drillDue, trouble: backups.drillFailure },
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
    retentionJob(wiring),
    // Also at the start: it repairs what an earlier process left behind.
    { name: 'image-sweep', every: hour, at_start: true, needs: [...writes, 'certain-time'], run: images.sweep },
    // After all others, whose outcome it reads.
    {
      name: 'conditions',
      every: minute,
      needs: [],
      ...looks,
      run: (signal) => parts.conditions.look(() => parts.status(0), signal),
      trouble: () => parts.conditions.failure(),
    },
  ];
}

function backupJob({ wiring, backups }: Parts): Job[] {
  const { at, zone } = wiring.config.backup;
  if (at === null) return [];
  return [
    {
      name: 'backup',
      at: wallClock({ at, zone }),
      needs: ['mirror'],
      doneAt: backups.madeAt,
      run: backups.make,
      trouble: backups.failure,
    },
  ];
}

/** Returns the job that keeps the service's subscriptions as declared. `work` null: none is declared, or nothing is received. */
export function subscriptionsJob(work: Pick<SubscriptionWork, 'maintain'> | null): Job {
  return {
    name: 'subscriptions',
    every: minute,
    needs: [...writes, 'time'],
    ...(work === null ? looks : {}),
    // Also at the start: the service waits for a rotation that a kill interrupted. The receiver listens by then.
    at_start: true,
    asks_service: true,
    run: async (signal) => work?.maintain(signal),
  };
}

/** Reads what is due, and ends the pass in the change feed. */
function passJob({ wiring, log }: Parts): Job {
  const { ports, workers, mirror, storage } = wiring;
  return {
    name: 'pass',
    every: second,
    needs: [...writes, 'time', 'key'],
    asks_service: true,
    // Also while the key is refused: what is due stays due.
    workAt: () => (mirror.changes.isPassOpen() ? ports.clock.now() : mirror.records.nextDueAt(null)),
    run: async (signal) => {
      const result = await pass(ports, workers, { job_id: null, signal, mayBulk: () => !storage.isLow });
      if (result.stored + result.failed > 0) log.info({ ...result }, 'pass ended');
      mirror.checkpoint(storage.isLow ? 'tight' : 'plenty');
    },
  };
}
