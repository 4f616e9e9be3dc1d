import { processFigures } from '../admin/process-figures.ts';
import type { AdminOptions } from '../admin/server.ts';
import { backupStatus } from '../backup/keep.ts';
import { conditionChecks } from '../doctor/conditions.ts';
import { serviceChecks } from '../doctor/doctor.ts';
import { openFileChecks } from '../doctor/files.ts';
import { quarantineAfter } from '../domain/schedule/backoff.ts';
import type { JobRuns } from '../domain/schedule/job-runs.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { short } from '../format.ts';
import { changeFeed } from '../mirror/changes/change-feed.ts';
import { mirrorFacts } from '../mirror/reading.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { statusReader } from '../mirror/status/reader.ts';
import { type MirrorStatus, readStatus } from '../mirror/status/status.ts';
import { snapshotStatus } from '../snapshot/snapshot.ts';
import { readsOf } from '../sqlite/statements.ts';
import { type DaemonStatus, type InboxStatus, liveStatus } from '../status/daemon-status.ts';
import { withConditions } from '../status/verdict.ts';
import { checkBeforeOrder } from '../sync/checks/check.ts';
import { countOnceAndRecheck } from '../sync/checks/order-once.ts';
import { findProducts } from '../sync/reads/find-products.ts';
import { approveRemovals, rejectRemovals } from '../sync/records/absence.ts';
import { refuseDates } from '../sync/records/date-reach.ts';
import { priceResync, type ResyncRequest, requestResync } from '../sync/records/resync.ts';
import { explainProduct } from '../sync/reports/explain.ts';
import { explainDate } from '../sync/reports/explain-date.ts';
import { makePlan } from '../sync/reports/plan.ts';
import { listSubscriptions } from '../sync/subscriptions/list.ts';
import type { Parts } from './parts.ts';
import { probeThrough } from './probing.ts';
import type { Schedule } from './schedule.ts';
import { searchThread } from './search-thread.ts';
import { settingsOf, subscriptionAnswers } from './subscriptions.ts';

/** The answers of the admin interface, wherever it listens. */
export type AdminAnswers = Omit<AdminOptions, 'listen' | 'token'>;

/** The greatest age of the status that monitors see. */
const recentMs = 5000;

/** Wires the admin interface's questions to the parts of a daemon. Disposing closes what it reads the mirror through. */
export function answersOf(
  parts: Parts,
  schedule: Pick<Schedule, 'list' | 'run'>,
): { readonly answers: AdminAnswers } & AsyncDisposable {
  const { wiring, log, key, snapshots, backups, checks, receiving, signal: stopping } = parts;
  const { mirror, inbox, files, limiter, ports, config, storage } = wiring;
  const stack = new AsyncDisposableStack();
  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  const facts = mirrorFacts(reader);
  const inboxStatus = (): InboxStatus => ({
    ...inbox.deliveries.counts(),
    ...inbox.deliveries.bytes(),
    budget_bytes: config.retention.deliveries_bytes,
    last_delivery_at: Math.max(0, ...inbox.deliveries.lastBySubscription().values()) || null,
    receiver: receiving === null ? null : { address: receiving.receiver.address, ...receiving.receiver.counts() },
  });
  const statuses = stack.use(statusReader(mirror.path, ports.clock.monotonic));
  const searches = stack.use(searchThread(mirror.path));
  // A reader that opens the path now finds no mirror, or another one: the connection still open shows what was
  // mirrored.
  const mirrorStatus = (max_age_ms: number): Promise<MirrorStatus> | MirrorStatus =>
    files.isWell('mirror') ? statuses.read(max_age_ms) : readStatus(reader, quarantineAfter);
  const statusWithin = async (max_age_ms: number): Promise<DaemonStatus> => {
    files.look();
    const status = await mirrorStatus(max_age_ms);
    const whole = {
      ...status,
      alarms: [...files.alarms(), ...status.alarms, ...storage.alarms(), ...snapshots.alarms(), ...backups.alarms()],
      storage: storage.status(),
      storefront: config.storefront.listen === null ? null : { listen: config.storefront.listen },
      daemon: liveStatus(limiter, key.refused()),
      inbox: inboxStatus(),
      jobs: schedule.list(),
      snapshot: snapshotStatus(config.snapshot, mirror.path, snapshots.failure(), ports.clock.now()),
      backup: backupStatus(config.backup, {
        filled_at: status.filled_at,
        failure: backups.failure(),
        now: ports.clock.now(),
      }),
    };
    return withConditions(whole, ports.clock.now());
  };
  const figures = stack.use(processFigures(ports.clock.now));
  // From as far back as the change feed reaches to the end of what is mirrored.
  const withinReach = (date: string): string => {
    refuseDates(ports, { date }, { history_ms: config.retention.changes });
    return date;
  };
  const price = (wanted: ResyncRequest) => priceResync(ports, wanted, config.budget.requests_per_second);
  const resync = async (wanted: ResyncRequest) => {
    await findProducts(ports, wanted.product_ids, { promptly: storage.promptly, signal: stopping });
    key.tryNow();
    const { job_id, records, resumed } = await storage.promptly(() => requestResync(ports, wanted));
    log.info({ job_id, records, resumed }, 'resync requested');
    return { job_id, resumed, ...price(wanted) };
  };
  const decide = async (decision: 'approve' | 'reject', work: () => number) => {
    const products = await storage.promptly(work);
    log.warn({ decision, products }, 'removals decided by an operator');
    return { products };
  };
  const answers: AdminAnswers = {
    hosts: config.admin.hosts,
    log,
    now: ports.clock.now,
    recentStatus: () => statusWithin(recentMs),
    processFigures: figures.look,
    ready: () => {
      files.look();
      return mirror.filledAt() !== null && files.alarms().length === 0 && !stopping.aborted;
    },
    changes: { feed: changeFeed(readsOf(reader)), clock: ports.clock, onChanges: mirror.onChanges },
    answers: {
      'GET /v1/status': () => statusWithin(0),
      'GET /v1/plan': () => makePlan(ports, config.budget.lanes),
      'GET /v1/explain/{id}': ({ path: { id }, query: { date } }) =>
        date === undefined ? explainProduct(ports, id) : explainDate(facts, id, withinReach(date)),
      'POST /v1/check': async ({ body }, signal) => {
        refuseDates(ports, { date: body.date });
        return await checkBeforeOrder(checks, body, signal);
      },
      'POST /v1/search': ({ body }) => searches.find(body),
      'POST /v1/orders': ({ body }) =>
        storage.promptly(() => countOnceAndRecheck(checks, inbox.orders, body, stopping)),
      'POST /v1/resync': ({ body: { dry_run, ...wanted } }) =>
        dry_run ? { job_id: null, resumed: false, ...price(wanted) } : resync(wanted),
      'GET /v1/jobs/{id}': ({ path: { id } }) => mirror.jobs.find(Number(id)),
      'GET /v1/schedule': () => ({ jobs: schedule.list() }),
      'POST /v1/schedule/{name}/run': async ({ path: { name } }) => {
        log.info({ job: short(name, 40) }, 'job requested by an operator');
        return (await schedule.run(name)) ?? unknownJob(name, schedule.list());
      },
      'GET /v1/removals': () => ({ hold: mirror.removals.openHold(), products: mirror.removals.list() }),
      'POST /v1/removals/approve': ({ body: { product_ids } }) =>
        decide('approve', () => approveRemovals(ports, product_ids)),
      'POST /v1/removals/reject': () => decide('reject', () => rejectRemovals(ports)),
      'GET /v1/subscriptions': () => listSubscriptions(facts, settingsOf(config)),
      ...subscriptionAnswers(wiring.subscriptions),
      'POST /v1/notifications/replay': async ({ body: { since } }) => {
        const deliveries = await storage.promptly(() => inbox.deliveries.replay(since, ports.clock.now()));
        // Not awaited if the mirror cannot be written: the deliveries are stored, and applied later.
        if (storage.status().trouble === null) await receiving?.apply();
        else void receiving?.apply();
        return { deliveries };
      },
      'GET /v1/doctor': async (_, signal) => {
        files.look();
        const probes = {
          config,
          probe: wiring.probe,
          offset: wiring.serviceClock.offset,
          subscriptions: wiring.subscriptions,
          notOffered: wiring.notOffered,
          peers: receiving?.peers ?? null,
        };
        const checks = [...openFileChecks(files.findings()), ...(await serviceChecks(probes, signal))];
        return [...checks, ...conditionChecks((await statusWithin(0)).conditions, checks)];
      },
      'POST /v1/probe': (_, signal) =>
        probeThrough({ raw: wiring.raw, clock: ports.clock }, config, AbortSignal.any([signal, stopping])),
    },
  };
  return { answers, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function unknownJob(name: string, jobs: readonly JobRuns[]): never {
  const names = jobs.map((job) => job.name).join(', ');
  throw new CataloguedError(
    'unknown-job',
    `there is no job ${JSON.stringify(short(name, 40))}; the jobs are ${names}`,
    {
      exitCode: exitCodes.usage,
    },
  );
}
