import { setImmediate } from 'node:timers/promises';
import { processFigures } from '../admin/process-figures.ts';
import { type Admin, type AdminOptions, startAdmin } from '../admin/server.ts';
import type { LoadedConfig } from '../config/load.ts';
import { serviceChecks } from '../doctor/doctor.ts';
import { openFileChecks } from '../doctor/files.ts';
import { quarantineAfter } from '../domain/schedule/backoff.ts';
import type { CataloguedError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { changeFeed } from '../mirror/changes/change-feed.ts';
import { mirrorFacts } from '../mirror/reading.ts';
import { openMirrorForReading } from '../mirror/sql/files.ts';
import { statusReader } from '../mirror/status/reader.ts';
import { type MirrorStatus, readStatus } from '../mirror/status/status.ts';
import { keepSnapshots, snapshotStatus } from '../snapshot/snapshot.ts';
import { type DaemonStatus, type InboxStatus, liveStatus } from '../status/daemon-status.ts';
import { checkBeforeOrder, checkPorts } from '../sync/checks/check.ts';
import { watchChecks } from '../sync/checks/flood.ts';
import { orderAndRecheck } from '../sync/checks/orders.ts';
import { runChores, sortIntoCategories } from '../sync/chores.ts';
import { pass } from '../sync/engine.ts';
import { findProducts } from '../sync/reads/find-products.ts';
import { approveRemovals, rejectRemovals } from '../sync/records/absence.ts';
import { refuseDates } from '../sync/records/date-reach.ts';
import { askNotOffered } from '../sync/records/offers.ts';
import { priceResync, type ResyncRequest, requestResync } from '../sync/records/resync.ts';
import { explainProduct } from '../sync/reports/explain.ts';
import { explainDate } from '../sync/reports/explain-date.ts';
import { makePlan } from '../sync/reports/plan.ts';
import { listSubscriptions } from '../sync/subscriptions/list.ts';
import { forgetOld } from './forget.ts';
import { type ImageHostOverrides, keepImageFiles } from './images.ts';
import { keyPause } from './key-pause.ts';
import { outageWatch } from './outage-watch.ts';
import { probeThrough } from './probing.ts';
import { startReceiving } from './receiving.ts';
import { every } from './schedule.ts';
import { settingsOf, subscriptionAnswers } from './subscriptions.ts';
import { type Overrides, type Wiring, wire, witnessFeed } from './wiring.ts';

/** A running daemon. Disposing drains it: no new calls, running ones aborted, files closed, lock released. */
export interface Daemon extends AsyncDisposable {
  readonly wiring: Wiring;
  /** Where the admin interface listens, as a person would type it: first by `admin.listen`. */
  readonly admin: readonly string[];
  /** Where deliveries are taken; null: no master secret is configured. */
  readonly receiver: string | null;
  /** Does what is due now; the schedule calls it every second. */
  tick(): Promise<void>;
  /** Rejects when the daemon cannot go on: the disk fails under it. */
  readonly broken: Promise<never>;
  /** What is to be said when it ends: a file that was lost or found damaged while it ran; null: nothing. */
  trouble(): CataloguedError | null;
}

export interface DaemonOverrides extends Overrides {
  readonly allowList?: 'check' | 'force';
  readonly imageHost?: ImageHostOverrides;
  /** More places where the admin interface listens. */
  readonly admin?: readonly Pick<AdminOptions, 'listen' | 'token'>[];
}

/** What watches the daemon all the time sees a status that is so old at most. */
const recentMs = 5000;

/** Starts everything: the files first, then the receiver and the admin interface, then the schedule. */
export async function startDaemon(loaded: LoadedConfig, log: Logger, overrides: DaemonOverrides = {}): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const wiring = stack.use(wire(loaded, log, overrides));
  const { mirror, inbox, files, limiter, ports, workers, config, storage, watch } = wiring;
  const stopping = new AbortController();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  storage.broken.catch(broken.reject);
  const key = keyPause(wiring.answers);
  const outage = outageWatch(limiter.pause, ports);

  async function tick(): Promise<void> {
    files.look();
    if (stopping.signal.aborted || !key.mayTry(ports.clock.now())) return;
    await guarded(async () => {
      if (!watch.observe()) return;
      const result = await pass(ports, workers, {
        job_id: null,
        signal: stopping.signal,
        mayBulk: () => !storage.isLow,
      });
      const next_try_in_ms = key.note(result.key_refused, ports.clock.now());
      if (result.key_refused !== null)
        log.error({ message: result.key_refused, next_try_in_ms }, 'the service refuses the key');
      if (result.stored + result.failed > 0) log.info({ ...result }, 'pass ended');
      mirror.checkpoint(storage.isLow ? 'tight' : 'plenty');
    });
  }

  /** Damage is told and lived with, because deliveries can still be taken; what else the disk does ends the daemon. */
  function end(file: 'mirror' | 'inbox'): (error: unknown) => void {
    return (error) => {
      if (!files.noteDamage(file, error)) broken.reject(error);
    };
  }

  /**
   * Nothing is done for a mirror that no reader finds, or whose pages are damaged. A full disk and another program's lock
   * are waited for; where anything else fails under it, the daemon cannot go on.
   */
  async function guarded(work: () => Promise<void>): Promise<void> {
    if (!files.isWell('mirror')) return;
    try {
      await storage.keepTrying(work, stopping.signal);
    } catch (error) {
      end('mirror')(error);
    }
  }

  /** The same, unless it is not even known what the time is. */
  async function whenKnown(work: () => Promise<void>): Promise<void> {
    await guarded(async () => {
      if (watch.observe()) await work();
    });
  }

  const receiving = await startReceiving(wiring, loaded.secrets.receiver_secret, {
    clock: ports.clock,
    log,
    signal: stopping.signal,
    rule: overrides.allowList ?? 'check',
    applied: (counts) => {
      if (counts.applied + counts.superseded + counts.quarantined > 0) log.info({ ...counts }, 'deliveries applied');
    },
    broken: end('inbox'),
  });
  if (receiving !== null) stack.use(receiving);

  function unlessStopping(error: unknown): void {
    if (!stopping.signal.aborted) throw error;
  }

  const reader = stack.adopt(openMirrorForReading(mirror.path), (db) => {
    db.close();
  });
  const facts = mirrorFacts(reader);
  const snapshots = keepSnapshots(ports, config.snapshot);
  const inboxStatus = (): InboxStatus => ({
    ...inbox.deliveries.counts(),
    ...inbox.deliveries.bytes(),
    budget_bytes: config.retention.deliveries_bytes,
    last_delivery_at: Math.max(0, ...inbox.deliveries.lastBySubscription().values()) || null,
    receiver: receiving === null ? null : { address: receiving.receiver.address, ...receiving.receiver.counts() },
  });
  const statuses = stack.use(statusReader(mirror.path, ports.clock.monotonic));
  // Who opens the path now finds no mirror, or another one: what is open still says what was mirrored.
  const mirrorStatus = (max_age_ms: number): Promise<MirrorStatus> | MirrorStatus =>
    files.isWell('mirror') ? statuses.read(max_age_ms) : readStatus(reader, quarantineAfter);
  const statusWithin = async (max_age_ms: number): Promise<DaemonStatus> => {
    files.look();
    const status = await mirrorStatus(max_age_ms);
    return {
      ...status,
      alarms: [...files.alarms(), ...status.alarms, ...storage.alarms(), ...snapshots.alarms()],
      storage: storage.status(),
      daemon: liveStatus(limiter, key.refused()),
      inbox: inboxStatus(),
      snapshot: snapshotStatus(config.snapshot, mirror.path, snapshots.failure(), ports.clock.now()),
    };
  };
  const figures = stack.use(processFigures(ports.clock.now));
  const checks = checkPorts(wiring);
  // What was, as far as the change feed reaches, and what is mirrored.
  const withinReach = (date: string): string => {
    refuseDates(ports, { date }, { history_ms: config.retention.changes });
    return date;
  };
  const floods = watchChecks(ports, limiter.state);
  const price = (wanted: ResyncRequest) => priceResync(ports, wanted, config.budget.requests_per_second);
  const resync = async (wanted: ResyncRequest) => {
    await findProducts(ports, wanted.product_ids, stopping.signal);
    key.tryNow();
    const { job_id, records, resumed } = await storage.promptly(() => requestResync(ports, wanted));
    log.info({ job_id, records, resumed }, 'resync requested');
    return { job_id, resumed, ...price(wanted) };
  };
  const decide = async (decision: 'approve' | 'reject', work: () => number) => {
    const products = await storage.promptly(work);
    log.warn({ decision, products }, 'an operator decided about removals');
    return { products };
  };
  const answers: Omit<AdminOptions, 'listen' | 'token'> = {
    hosts: config.admin.hosts,
    log,
    now: ports.clock.now,
    recentStatus: () => statusWithin(recentMs),
    processFigures: figures.look,
    ready: () => {
      files.look();
      return mirror.filledAt() !== null && files.alarms().length === 0 && !stopping.signal.aborted;
    },
    changes: { feed: changeFeed(reader), clock: ports.clock, onChanges: mirror.onChanges },
    answers: {
      'GET /v1/status': () => statusWithin(0),
      'GET /v1/plan': () => makePlan(ports, config.budget.lanes),
      'GET /v1/explain/{id}': ({ path: { id }, query: { date } }) =>
        date === undefined ? explainProduct(ports, id) : explainDate(facts, id, withinReach(date)),
      'POST /v1/check': async ({ body }, signal) => {
        refuseDates(ports, { date: body.date });
        return await checkBeforeOrder(checks, body, signal);
      },
      'POST /v1/orders': ({ body }) => storage.promptly(() => orderAndRecheck(checks, body, stopping.signal)),
      'POST /v1/resync': ({ body: { dry_run, ...wanted } }) =>
        dry_run ? { job_id: null, resumed: false, ...price(wanted) } : resync(wanted),
      'GET /v1/jobs/{id}': ({ path: { id } }) => mirror.jobs.find(Number(id)),
      'GET /v1/removals': () => ({ hold: mirror.removals.openHold(), products: mirror.removals.list() }),
      'POST /v1/removals/approve': ({ body: { product_ids } }) =>
        decide('approve', () => approveRemovals(ports, product_ids)),
      'POST /v1/removals/reject': () => decide('reject', () => rejectRemovals(ports)),
      'GET /v1/subscriptions': () => listSubscriptions(facts, settingsOf(config)),
      ...subscriptionAnswers(wiring.subscriptions),
      'POST /v1/notifications/replay': async ({ body: { since } }) => {
        const deliveries = await storage.promptly(() => inbox.deliveries.replay(since, ports.clock.now()));
        // Not waited for where the mirror cannot be written: they are stored, and applied when it can.
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
        return [...openFileChecks(files.findings()), ...(await serviceChecks(probes, signal))];
      },
      'POST /v1/probe': (_, signal) =>
        probeThrough({ raw: wiring.raw, clock: ports.clock }, config, AbortSignal.any([signal, stopping.signal])),
    },
  };
  const listens = [{ listen: config.admin.listen, token: loaded.secrets.admin_token }, ...(overrides.admin ?? [])];
  const admins: Admin[] = [];
  for (const each of listens) admins.push(stack.use(await startAdmin({ ...answers, ...each })));
  // Given up before the admin interface closes: it waits for whoever waits for them.
  stack.use(checks);
  const images = stack.use(keepImageFiles(wiring, overrides.imageHost));
  storage.serve();
  stack.use(every('second', async () => storage.look()));
  stack.use(every('second', () => guarded(async () => void (await watch.look(stopping.signal)))));
  stack.use(every('second', tick));
  stack.use(every('second', async () => outage.look()));
  stack.use(every('second', () => snapshots.publishDue(stopping.signal)));
  stack.use(every('second', () => guarded(async () => checks.counter.flush())));
  stack.use(every('second', () => whenKnown(() => images.fetch(stopping.signal))));
  stack.use(
    every('minute', async () => {
      if (files.isWell('inbox')) witnessFeed(mirror, inbox, log);
      await guarded(async () => {
        await receiving?.mind();
        floods();
        if (watch.observe()) await runChores(ports, stopping.signal);
      });
    }),
  );
  stack.use(every('minute', () => files.checkDue(stopping.signal)));
  // Apart from the chores: what must go does not wait for them.
  stack.use(every('minute', () => whenKnown(() => images.mind(stopping.signal))));
  stack.use(every('minute', () => whenKnown(() => askNotOffered(ports, stopping.signal).catch(unlessStopping))));
  // By now the receiver listens: what is put may be called at once.
  if ('work' in wiring.subscriptions && receiving !== null) {
    const { work } = wiring.subscriptions;
    const tend = () => whenKnown(() => work.tend(stopping.signal).catch(unlessStopping));
    stack.use(every('minute', tend));
    // And at once: a rotation that a kill interrupted has its service waiting.
    const first = tend();
    stack.defer(() => first);
  }
  stack.use(
    every('hour', () =>
      guarded(async () => {
        if (forgetOld(wiring) === 'in doubt') return;
        // What a flood has left behind is given back to the disk.
        while (!stopping.signal.aborted && inbox.deliveries.shrink()) await setImmediate();
        await sortIntoCategories(ports, stopping.signal);
        await images.sweep();
      }),
    ),
  );
  stack.defer(() => stopping.abort(new Error('the daemon is stopping')));
  const closing = stack.move();
  return {
    wiring,
    admin: admins.map(({ address }) => address),
    receiver: receiving?.receiver.address ?? null,
    tick,
    broken: broken.promise,
    trouble: files.trouble,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
