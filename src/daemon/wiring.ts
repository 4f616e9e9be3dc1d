import { dirname } from 'node:path';
import { type Chance, type Clock, DeadlineExceeded, systemChance, systemClock } from '../clock.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import { publishable } from '../domain/push/public-address.ts';
import type { Budget } from '../domain/schedule/budget.ts';
import { type OptionalPath, optionalPaths } from '../domain/schedule/offer.ts';
import { retryBudget } from '../domain/schedule/retry-budget.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { backupsIn, findFiles, lastStopPath, refuseFiles } from '../files/pair.ts';
import { createStorage, type Storage } from '../files/storage.ts';
import { type FileWatch, type FileWatchOptions, watchFiles } from '../files/watch.ts';
import { type Inbox, openInbox } from '../inbox/inbox.ts';
import type { Logger } from '../log.ts';
import { type Mirror, openMirror } from '../mirror/mirror.ts';
import { prepareDirectory } from '../sqlite/directory.ts';
import { forgetLastStop } from '../sqlite/last-stop.ts';
import { acquireLock, acquireMirrorLock } from '../sqlite/lock.ts';
import { noteAbsence } from '../sync/notifications/coverage.ts';
import type { PathVerdict, Ports } from '../sync/records/context.ts';
import { prepareRecords } from '../sync/records/prepare.ts';
import { sharedAnswer } from '../sync/records/shared-answer.ts';
import type { OwnAddresses } from '../sync/subscriptions/callback.ts';
import type { SubscriptionPorts } from '../sync/subscriptions/declared.ts';
import type { ManagedSubscriptions } from '../sync/subscriptions/work.ts';
import { createUpstream } from '../upstream/client.ts';
import { counted } from '../upstream/counted.ts';
import { createHttp } from '../upstream/http.ts';
import { createLimiter, type Limiter } from '../upstream/limiter.ts';
import { failed, type Outcome } from '../upstream/outcome.ts';
import { createRawReads, type RawReads } from '../upstream/raw-reads.ts';
import { type ServiceClock, serviceClock } from '../upstream/service-clock.ts';
import { connectionsFor } from '../upstream/turns.ts';
import { version } from '../version.ts';
import { type ClockWatch, watchClock } from './clock-watch.ts';
import { policyOf } from './policy.ts';
import { manageSubscriptions } from './subscriptions.ts';
import { trustedClock } from './trusted-clock.ts';

/** Overrides for tests: time, chance, and what needs a receiver. */
export interface Overrides {
  readonly clock?: Clock;
  readonly chance?: Chance;
  /** Callback addresses to use if the inbox has none. */
  readonly addresses?: OwnAddresses;
  /** Replaces the real request to our own public address. */
  readonly selfTest?: SubscriptionPorts['selfTest'];
  /** Addresses of a test's image host on this machine. No configuration can set these. */
  readonly imageHost?: { readonly addresses: readonly string[] };
  /** Replaces the check of a whole file, which runs in a process with its own time. */
  readonly checkFile?: FileWatchOptions['checkFile'];
}

/** All wired parts, of the daemon or of a command that works without one. */
export interface Wiring extends AsyncDisposable {
  readonly config: Config;
  readonly mirror: Mirror;
  readonly inbox: Inbox;
  /** Whether both files are still where they were opened, and sound. */
  readonly files: FileWatch;
  /** Waits for the disk and for locks. */
  readonly storage: Storage;
  readonly limiter: Limiter;
  readonly ports: Ports;
  readonly subscriptions: ManagedSubscriptions;
  /** Sends any GET and returns it undecoded, for the probe. */
  readonly raw: RawReads;
  /** Requests a list of one row: tells whether the service answers and accepts the key. */
  probe(signal: AbortSignal): Promise<Outcome>;
  /** Returns how many calls the service has answered since the start. */
  answers(): number;
  /** Watches for a wrong clock of the machine. */
  readonly watch: ClockWatch;
  /** Returns the paths that the service is known not to have. */
  notOffered(): OptionalPath[];
  /** How far our clock is from the service's. */
  readonly serviceClock: ServiceClock;
  /** How many records are worked on at a time. */
  readonly workers: number;
}

/**
 * Takes the lock (75), opens both files and wires the client to them. Disposing closes in reverse order and records a
 * clean end.
 */
export function wire(
  { config, secrets }: Pick<LoadedConfig, 'config' | 'secrets'>,
  log: Logger,
  overrides: Overrides = {},
): Wiring {
  const machine = overrides.clock ?? systemClock;
  const chance = overrides.chance ?? systemChance;
  const stack = new AsyncDisposableStack();
  try {
    const { state_dir, inbox_path, path } = config.mirror;
    prepareDirectory(dirname(path), 0o3770);
    ownDirectory(state_dir);
    prepareDirectory(dirname(inbox_path), 0o700);
    stack.use(acquireLock(state_dir));
    // By the trusted clock, once there is one.
    let now = machine.now;
    stack.use(acquireMirrorLock(path));
    const found = findFiles(config, 'touched');
    refuseFiles(config, found);
    forgetLastStop(lastStopPath(config.mirror));
    const files = stack.use(
      watchFiles(config.mirror, {
        clock: { now: () => now(), monotonic: machine.monotonic },
        log,
        unchecked: found.unchecked,
        ...(overrides.checkFile === undefined ? {} : { checkFile: overrides.checkFile }),
        checked_at: found.checked_at,
      }),
    );
    const inbox = stack.use(
      openInbox(inbox_path, {
        master: secrets.receiver_secret,
        now: now(),
        deliveries_bytes: config.retention.deliveries_bytes,
      }),
    );
    const waiting = inbox.deliveries.after(0, 1)[0]?.delivery_id;
    const [language] = config.service.languages;
    const [currency] = config.service.currencies;
    const mirror = stack.use(
      openMirror({
        path,
        pair_id: inbox.pair_id,
        written_by: `catalogued ${version}`,
        language,
        currency,
        image_size: config.images.files ? (config.images.sizes[0] ?? null) : null,
        backups: backupsIn(config.backup.directory),
        feed: { ...inbox.feed, waits_above: waiting === undefined ? null : waiting - 1 },
      }),
    );
    inbox.feed.witness(mirror.changes.newest());
    inbox.feed.opened(path);
    files.opened(mirror, inbox);
    stack.defer(() => {
      files.look();
      witnessFeed(mirror, inbox, log);
      noteStop(inbox, now(), log);
    });
    if (mirror.feed.feed === 'new') log.info({ ...mirror.feed }, 'a new change feed begins');
    const last = Math.max(inbox.last_alive_at ?? 0, mirror.lastReadAt() ?? 0) || null;
    const clock = trustedClock(machine, inbox.machineClock.anchor(), last);
    now = clock.now;
    const storage = stack.use(createStorage({ mirror, inbox, clock, log }));
    inbox.deliveries.goOnAbove(mirror.lastDelivery());
    // For a restored mirror; a new one reads everything anyway.
    const again = mirror.filledAt() === null ? null : inbox.deliveries.waitAgain(mirror.lastDelivery());
    if (again !== null && again.deliveries > 0)
      log.warn({ deliveries: again.deliveries }, 'the mirror is older than the inbox: deliveries are applied again');
    const { budget, service } = config;
    const profile = service.profile;
    const limiter = stack.use(
      createLimiter({
        budget,
        clock,
        chance,
        burst_statuses: profile.burst_statuses,
        learned: mirror.budget.learned(),
        throttled: (learned) => storage.soon('budget', () => saveLearned(mirror, learned)),
      }),
    );
    stack.defer(() => storage.soon('budget', () => saveLearned(mirror, limiter.learned())));
    const service_clock = serviceClock((offset_ms) => log.warn({ offset_ms }, "our clock differs from the service's"));
    const transport = stack.use(
      createHttp({
        heard: (offset) => {
          const date = offset === null ? null : clock.now() + offset;
          clock.heard(date);
          service_clock.heard(date === null ? null : date - clock.now());
        },
        base_url: service.base_url,
        authorization: profile.authorization,
        key: secrets.api_key,
        user_agent: service.user_agent,
        timeouts: profile.timeouts,
        connections: connectionsFor(budget.concurrency),
        throttle_statuses: profile.throttle_statuses,
        clock,
      }),
    );
    const http = counted(transport);
    const upstream = createUpstream({
      http,
      limiter,
      profile,
      select: queryOf(service.select),
      commission: config.mirror.commission,
      mayPublish: publishable([...config.images.hosts, ...(overrides.imageHost?.addresses ?? [])]),
    });
    const ports = {
      upstream,
      mirror,
      clock,
      chance,
      log,
      policy: policyOf(config, mirror.offers.offers),
      retries: retryBudget(),
      productPath: sharedAnswer<PathVerdict>(),
    };
    const probe = async (signal: AbortSignal): Promise<Outcome> => {
      const { parameters, paths, timeouts, max_bytes } = profile;
      const limits = { deadline_ms: timeouts.total, max_bytes: max_bytes.product };
      const query = { [parameters.page]: '1', [parameters.page_size]: '1' };
      using patience = clock.deadline(timeouts.total, signal);
      try {
        const ask = (turn: AbortSignal) => http.get(paths.products, query, { ...limits, signal: turn });
        return await limiter.run(ask, patience.signal, 'notification');
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) throw error;
        return failed('deadline', 'no answer in time, or it asked for a longer pause');
      }
    };
    const watch = watchClock({ time: clock, mirror, inbox, log, ask: probe, moved: service_clock.forget });
    // Instants that a wrong clock wrote are corrected first, so that planning uses the right time.
    watch.observe();
    forgetUnasked(mirror, profile);
    prepareRecords(ports);
    // Deliveries that cannot be applied again count as never received.
    if (again != null && again.gone_since !== null) noteAbsence(ports, again.gone_since);
    const subscriptions = manageSubscriptions({
      loaded: { config, secrets },
      ports,
      mayRotate: () => clock.look().mayPrune,
      addresses: overrides.addresses ?? (secrets.receiver_secret === null ? null : inbox.addresses),
      // The receiver's 404 has no body; that of a proxy has one.
      refusal: '',
      ...(overrides.selfTest === undefined ? {} : { selfTest: overrides.selfTest }),
      http,
      limiter,
      service_clock,
    });
    const closing = stack.move();
    return {
      config,
      mirror,
      inbox,
      files,
      storage,
      limiter,
      ports,
      subscriptions,
      probe,
      watch,
      raw: createRawReads({
        http,
        limiter,
        clock,
        limits: { deadline_ms: profile.timeouts.list, max_bytes: profile.max_bytes.list },
      }),
      answers: http.answers,
      notOffered: () => mirror.offers.missing().map(({ path }) => path),
      serviceClock: service_clock,
      workers: budget.concurrency,
      [Symbol.asyncDispose]: () => closing.disposeAsync(),
    };
  } catch (error) {
    // Disposing here is synchronous; the failure is thrown on.
    stack.disposeAsync().catch(() => undefined);
    throw error;
  }
}

/** Records when the process ended; if that fails, its last heartbeat counts instead. */
function noteStop(inbox: Inbox, at: number, log: Logger): void {
  try {
    inbox.stopped(at);
  } catch (error) {
    log.warn({ err: error }, 'the end of the daemon could not be noted in the inbox');
  }
}

/** Records the newest change in the inbox; if that fails, the reserved ceiling counts instead. */
export function witnessFeed(mirror: Mirror, inbox: Inbox, log: Logger): void {
  try {
    inbox.feed.witness(mirror.changes.newest());
  } catch (error) {
    log.warn({ err: error }, 'the newest change could not be noted in the inbox');
  }
}

function saveLearned(mirror: Mirror, budget: Budget): void {
  mirror.transaction(() => mirror.budget.saveLearned(budget));
}

/** Forgets missing paths that the configuration no longer asks for. */
function forgetUnasked(mirror: Mirror, { paths, subscription_reads }: Config['service']['profile']): void {
  const asked = { ...paths, subscription: subscription_reads ? paths.subscription : null };
  mirror.transaction(() => {
    for (const path of optionalPaths) if (asked[path] === null) mirror.offers.forget(path);
  });
}

/** Creates the state directory (inbox, lock, socket), or throws if others can enter it. */
function ownDirectory(path: string): void {
  const { mode, uid } = prepareDirectory(path, 0o700);
  const ours = process.getuid === undefined || uid === process.getuid();
  if (ours && (mode & 0o077) === 0) return;
  throw new CataloguedError(
    'state-directory',
    `the state directory ${path} ${ours ? 'can be entered by others' : 'belongs to somebody else'}`,
    {
      exitCode: exitCodes.permission,
      hint: `give it to this user alone: chown "$(id -u)" ${path} && chmod 0700 ${path}`,
    },
  );
}

function queryOf(select: Config['service']['select']): Record<string, string | readonly string[]> {
  const { include_product_ids: _, exclude_product_ids: __, ...filters } = select;
  return Object.fromEntries(
    Object.entries(filters).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  );
}
