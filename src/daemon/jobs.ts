import { setImmediate } from 'node:timers/promises';
import { wallClock } from '../domain/time/wall-clock.ts';
import { reassignCategories, runChores } from '../sync/chores.ts';
import { completePass, pass } from '../sync/engine.ts';
import { surveyDueAt } from '../sync/records/pricing.ts';
import type { SubscriptionWork } from '../sync/subscriptions/work.ts';
import type { Guard } from './guard.ts';
import { witnessFeed } from './open-files.ts';
import type { Parts } from './parts.ts';
import { prune } from './prune.ts';
import type { Job } from './schedule.ts';
import type { Copying } from './sharing/copying.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** A job that never has work of its own: it reacts to what other jobs bring about. */
const looks = { workAt: () => null };

/** Jobs that do their work without the mirror too. */
const needNoMirror: ReadonlySet<string> = new Set(['disk', 'feed-witness', 'outage', 'doubts', 'conditions']);

/**
 * Returns the daemon's schedule: everything it does unasked. The test harnesses run this very list, so that a month of
 * virtual time tests the daemon's own schedule. Jobs that fall on one instant begin in this order: the pass reads what
 * the chores of the same second made due.
 */
export function jobsOf(parts: Parts): Job[] {
  const { files, sharing } = parts.wiring;
  const lost = () => {
    if (!files.isWell('mirror')) return files.trouble()?.message ?? null;
    return sharing?.leadership.trusted() === false ? 'the database does not say that this instance leads' : null;
  };
  const refused = () => {
    const message = parts.wiring.ports.refusals.keyRefused();
    return message === null ? null : `the service refuses the key: ${message}`;
  };
  const blocked = (name: string) => (name === 'pass' ? () => lost() ?? refused() : lost);
  return listOf(parts).map((job) => (needNoMirror.has(job.name) ? job : { ...job, blocked: blocked(job.name) }));
}

function listOf(parts: Parts): Job[] {
  const { wiring, guard, snapshots, backups, checks, images, doubts, receiving, floods } = parts;
  const { config, ports, mirror, inbox, files, storage, watch, subscriptions } = wiring;
  const { guarded, whenTimeKnown } = guard;
  /** Without a receiver this job has nothing to do. */
  const receives = receiving === null ? looks : {};
  const work = receiving !== null && 'work' in subscriptions ? subscriptions.work : null;
  const maintenance = wallClock(config.maintenance);
  return [
    { name: 'disk', every: second, ...looks, run: async () => storage.look() },
    { name: 'clock', every: second, ...looks, run: (signal) => guarded(async () => void (await watch.look(signal))) },
    {
      name: 'feed-witness',
      every: minute,
      ...looks,
      run: async () => {
        if (files.isWell('inbox')) witnessFeed(mirror, inbox, parts.log);
      },
    },
    { name: 'receiver', every: minute, ...receives, run: () => guarded(async () => receiving?.maintain()) },
    ...(receiving?.copying == null ? [] : [copyJob(receiving.copying)]),
    { name: 'check-flood', every: minute, ...looks, run: () => guarded(async () => floods()) },
    subscriptionsJob({ work, whenTimeKnown }),
    {
      name: 'chores',
      every: minute,
      asks_service: true,
      // Everything else reacts to reads and deliveries.
      workAt: () => (mirror.promises.replannedTo() === null ? surveyDueAt(ports) : ports.clock.now()),
      run: (signal) => whenTimeKnown(() => runChores(ports, signal)),
    },
    {
      name: 'offers',
      every: minute,
      asks_service: true,
      ...looks,
      run: (signal) => whenTimeKnown(() => ports.refusals.askMissing(signal)),
    },
    {
      name: 'categories',
      every: hour,
      run: (signal) =>
        guarded(async () => {
          if (watch.mayPrune()) await reassignCategories(ports, signal);
        }),
    },
    auditJob(parts),
    {
      name: 'pass',
      every: second,
      asks_service: true,
      // Also while the key is refused: what is due stays due.
      workAt: () => (mirror.changes.isPassOpen() ? ports.clock.now() : mirror.records.nextDueAt(null)),
      run: (signal) => passOnce(parts, signal),
    },
    {
      name: 'doubts',
      every: 5 * second,
      asks_service: true,
      ...looks,
      run: async (signal) => {
        await ports.refusals.tryKey(signal);
        await doubts.ask(signal);
      },
    },
    {
      name: 'outage',
      every: 5 * second,
      ...looks,
      run: (signal) => parts.conditions.lookForService(() => parts.status(0), signal),
    },
    { name: 'snapshot', every: second, ...looks, run: snapshots.publishDue, trouble: snapshots.failure },
    { name: 'check-counts', every: second, ...looks, run: () => guarded(async () => checks.counter.flush()) },
    { name: 'views', every: minute, ...looks, run: () => guarded(() => checks.views.flush()) },
    searchCountsJob(parts),
    // Separate from the chores: images that must go do not wait for them.
    { name: 'image-limits', every: minute, ...looks, run: (signal) => whenTimeKnown(() => images.maintain(signal)) },
    {
      name: 'image-files',
      every: second,
      asks_service: true,
      ...looks,
      run: (signal) => whenTimeKnown(() => images.fetch(signal)),
    },
    { name: 'start-check', every: minute, ...looks, run: files.checkSkipped },
    ...(config.backup.at === null ? [] : [backupJob(backups, config.backup.at, config.backup.zone)]),
    { name: 'restore-drill', every: hour, ...looks, run: backups.drillDue, trouble: backups.drillFailure },
    {
      name: 'optimise',
      at: maintenance,
      doneAt: files.checkedAt,
      run: () =>
        guarded(async () => {
          mirror.optimise();
          if (files.isWell('inbox')) inbox.optimise();
        }),
    },
    { name: 'integrity', at: maintenance, doneAt: files.checkedAt, run: files.checkAll, trouble: files.notChecked },
    retentionJob(parts),
    { name: 'image-sweep', every: hour, run: () => guarded(images.sweep) },
    // After all others: it looks at what they have come to.
    {
      name: 'conditions',
      every: minute,
      ...looks,
      run: (signal) => parts.conditions.look(() => parts.status(0), signal),
      trouble: () => parts.conditions.failure(),
    },
  ];
}

/** Deletes what is older than its retention, and gives the space back. */
function retentionJob({ wiring, guard, log }: Parts): Job {
  const { config, ports, inbox, sharing } = wiring;
  return {
    name: 'retention',
    every: hour,
    run: (signal) =>
      guard.guarded(async () => {
        if (prune(wiring) === 'in doubt') return;
        await sharing?.deliveries
          .prune(ports.clock.now() - config.retention.deliveries)
          .catch((error: unknown) => log.warn({ err: error }, 'old deliveries stay in the database'));
        // Returns the space that a flood of deliveries has used to the disk.
        while (!signal.aborted && inbox.deliveries.shrink()) await setImmediate();
      }),
  };
}

/** What other instances received; what comes to the leader itself is copied at once. */
function copyJob({ copy }: Copying): Job {
  return { name: 'deliveries', every: second, run: copy };
}

/** Before the pass: it measures what is shown until then. */
function auditJob(parts: Parts): Job {
  const { wiring, guard } = parts;
  return {
    name: 'audit',
    every: second,
    asks_service: true,
    workAt: () => parts.audits.nextAt(),
    run: (signal) =>
      guard.whenTimeKnown(async () => {
        if (wiring.ports.refusals.keyRefused() === null) await parts.audits.run(signal);
      }),
  };
}

function searchCountsJob({ wiring: { files }, guard: { guarded }, fruitless }: Parts): Job {
  const flush = async () => {
    if (files.isWell('inbox')) fruitless.flush();
  };
  return { name: 'search-counts', every: minute, ...looks, run: () => guarded(flush) };
}

function backupJob({ madeAt, make, failure }: Parts['backups'], at: string, zone: string): Job {
  return { name: 'backup', at: wallClock({ at, zone }), doneAt: madeAt, run: make, trouble: failure };
}

/** Returns the job that keeps the service's subscriptions as declared. `work` null: none is declared, or nothing is received. */
export function subscriptionsJob({
  work,
  whenTimeKnown,
}: Pick<Guard, 'whenTimeKnown'> & { readonly work: Pick<SubscriptionWork, 'maintain'> | null }): Job {
  return {
    name: 'subscriptions',
    every: minute,
    ...(work === null ? looks : {}),
    // Also at the start: the service waits for a rotation that a kill interrupted. The receiver listens by then.
    at_start: true,
    asks_service: true,
    run: async (signal) => {
      if (work !== null) await whenTimeKnown(() => work.maintain(signal));
    },
  };
}

/** Reads what is due, unless the key is refused, and ends the pass in the change feed. */
async function passOnce({ wiring, guard, log }: Parts, signal: AbortSignal): Promise<void> {
  const { files, ports, workers, mirror, storage } = wiring;
  files.look();
  if (signal.aborted) return;
  await guard.whenTimeKnown(async () => {
    if (ports.refusals.keyRefused() !== null) return completePass(ports);
    const result = await pass(ports, workers, { job_id: null, signal, mayBulk: () => !storage.isLow });
    if (result.stored + result.failed > 0) log.info({ ...result }, 'pass ended');
    mirror.checkpoint(storage.isLow ? 'tight' : 'plenty');
  });
}
