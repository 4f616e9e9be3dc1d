import { setImmediate } from 'node:timers/promises';
import { processFigures } from './admin/process-figures.ts';
import { type Admin, type AdminOptions, startAdmin } from './admin/server.ts';
import type { LoadedConfig } from './config.ts';
import { serviceChecks } from './doctor.ts';
import { forgetOld } from './forget.ts';
import { type ImageHostOverrides, keepImageFiles } from './images.ts';
import type { Logger } from './log.ts';
import { changeFeed } from './mirror/change-feed.ts';
import { openMirrorForReading } from './mirror/files.ts';
import { mirrorFacts } from './mirror/reading.ts';
import { statusReader } from './mirror/status-reader.ts';
import { probeThrough } from './probing.ts';
import { startReceiving } from './receiving.ts';
import { every } from './schedule.ts';
import { keepSnapshots, snapshotStatus } from './snapshot.ts';
import { type DaemonStatus, type InboxStatus, liveStatus } from './status.ts';
import { settingsOf } from './subscriptions.ts';
import { approveRemovals, rejectRemovals } from './sync/absence.ts';
import { checkBeforeOrder, checkPorts } from './sync/check.ts';
import { runChores, sortIntoCategories } from './sync/chores.ts';
import { refuseDates } from './sync/date-reach.ts';
import { pass } from './sync/engine.ts';
import { explainProduct } from './sync/explain.ts';
import { explainDate } from './sync/explain-date.ts';
import { askNotOffered } from './sync/offers.ts';
import { orderAndRecheck } from './sync/orders.ts';
import { makePlan } from './sync/plan.ts';
import { priceResync, requestResync } from './sync/resync.ts';
import { listSubscriptions } from './sync/subscription-list.ts';
import { type Overrides, type Wiring, wire } from './wiring.ts';

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
}

export interface DaemonOverrides extends Overrides {
  readonly allowList?: 'check' | 'force';
  readonly imageHost?: ImageHostOverrides;
  /** More places where the admin interface listens. */
  readonly admin?: readonly Pick<AdminOptions, 'listen' | 'token'>[];
}

/** After the service refused the key, the next try: a minute, doubling up to an hour. */
const keyRefusedPauseMs = { first: 60_000, longest: 3_600_000 };

/** What watches the daemon all the time sees a status that is so old at most. */
const recentMs = 5000;

/** Starts everything: the files first, then the receiver and the admin interface, then the schedule. */
export async function startDaemon(loaded: LoadedConfig, log: Logger, overrides: DaemonOverrides = {}): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const wiring = stack.use(wire(loaded, log, overrides));
  const { mirror, inbox, limiter, ports, workers, config, storage, watch } = wiring;
  const stopping = new AbortController();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  storage.broken.catch(broken.reject);
  let key = { refused: null as string | null, pause: keyRefusedPauseMs.first, not_before: 0 };

  async function tick(): Promise<void> {
    if (stopping.signal.aborted || ports.clock.now() < key.not_before) return;
    await guarded(async () => {
      if (!watch.observe()) return;
      const result = await pass(ports, workers, {
        job_id: null,
        signal: stopping.signal,
        mayBulk: () => !storage.isLow,
      });
      if (result.key_refused === null) {
        key = { refused: null, pause: keyRefusedPauseMs.first, not_before: 0 };
      } else {
        log.error({ message: result.key_refused, next_try_in_ms: key.pause }, 'the service refuses the key');
        const not_before = ports.clock.now() + key.pause;
        key = { refused: result.key_refused, pause: Math.min(2 * key.pause, keyRefusedPauseMs.longest), not_before };
      }
      if (result.stored + result.failed > 0) log.info({ ...result }, 'pass ended');
      mirror.checkpoint(storage.isLow ? 'tight' : 'plenty');
    });
  }

  /** A full disk and another program's lock are waited for; where anything else fails under it, the daemon cannot go on. */
  async function guarded(work: () => Promise<void>): Promise<void> {
    try {
      await storage.keepTrying(work, stopping.signal);
    } catch (error) {
      broken.reject(error);
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
    broken: broken.reject,
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
  const statusWithin = async (max_age_ms: number): Promise<DaemonStatus> => {
    const status = await statuses.read(max_age_ms);
    return {
      ...status,
      alarms: [...status.alarms, ...storage.alarms(), ...snapshots.alarms()],
      storage: storage.status(),
      daemon: liveStatus(limiter, key.refused),
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
  const answers: Omit<AdminOptions, 'listen' | 'token'> = {
    hosts: config.admin.hosts,
    log,
    now: ports.clock.now,
    status: () => statusWithin(0),
    recentStatus: () => statusWithin(recentMs),
    processFigures: figures.look,
    ready: () => mirror.filledAt() !== null && !stopping.signal.aborted,
    price: (request) => priceResync(ports, request, config.budget.requests_per_second),
    resync: (request) => storage.promptly(() => requestResync(ports, request)),
    check: async (question, signal) => {
      refuseDates(ports, { date: question.date });
      return await checkBeforeOrder(checks, question, signal);
    },
    order: (report) => storage.promptly(() => orderAndRecheck(checks, report, stopping.signal)),
    removals: () => ({ hold: mirror.removals.openHold(), products: mirror.removals.list() }),
    decideRemovals: (decision, product_ids) =>
      storage.promptly(() => (decision === 'approve' ? approveRemovals(ports, product_ids) : rejectRemovals(ports))),
    doctor: (signal) =>
      serviceChecks(
        {
          config,
          probe: wiring.probe,
          offset: wiring.serviceClock.offset,
          subscriptions: wiring.subscriptions,
          notOffered: wiring.notOffered,
          peers: receiving?.peers ?? null,
        },
        signal,
      ),
    probe: (signal) =>
      probeThrough({ raw: wiring.raw, clock: ports.clock }, config, AbortSignal.any([signal, stopping.signal])),
    subscriptions: () => listSubscriptions(facts, settingsOf(config)),
    manage: () => {
      if ('why' in wiring.subscriptions) throw wiring.subscriptions.why;
      return wiring.subscriptions.work;
    },
    plan: () => makePlan(ports, config.budget.lanes),
    explain: (product_id, date) =>
      date === null ? explainProduct(ports, product_id) : explainDate(facts, product_id, withinReach(date)),
    job: (job_id) => mirror.jobs.find(job_id),
    changes: { feed: changeFeed(reader), clock: ports.clock, onChanges: mirror.onChanges },
    replay: async (since) => {
      const deliveries = await storage.promptly(() => inbox.deliveries.replay(since, ports.clock.now()));
      // Not waited for where the mirror cannot be written: they are stored, and applied when it can.
      if (storage.status().trouble === null) await receiving?.apply();
      else void receiving?.apply();
      return deliveries;
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
  stack.use(every('second', () => snapshots.publishDue(stopping.signal)));
  stack.use(every('second', () => guarded(async () => checks.counter.flush())));
  stack.use(every('second', () => whenKnown(() => images.fetch(stopping.signal))));
  stack.use(
    every('minute', () =>
      guarded(async () => {
        await receiving?.mind();
        if (watch.observe()) await runChores(ports, stopping.signal);
      }),
    ),
  );
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
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
