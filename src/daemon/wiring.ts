import { type UpgradeWatch, unwatched } from '../backup/upgrade.ts';
import { type Chance, type Clock, type Entropy, systemChance, systemClock, systemEntropy } from '../clock.ts';
import type { Config, LoadedConfig } from '../config/load.ts';
import { requireSecrets } from '../config/secrets.ts';
import { retryBudget } from '../domain/budget/retry-budget.ts';
import { answerLengths } from '../domain/catalogue/answer-lengths.ts';
import { type OptionalPath, optionalPaths } from '../domain/schedule/offer.ts';
import { Siblings } from '../domain/schedule/siblings.ts';
import type { StoragePorts } from '../files/storage.ts';
import type { FileWatchOptions } from '../files/watch.ts';
import type { InodeOf } from '../inbox/feed-ledger.ts';
import type { Logger } from '../log.ts';
import type { Mirror } from '../mirror/mirror.ts';
import { Evidence } from '../sync/evidence/evidence.ts';
import { Refusals } from '../sync/evidence/reach.ts';
import { noteAbsence } from '../sync/notifications/coverage.ts';
import type { Ports } from '../sync/records/context.ts';
import { prepareRecords } from '../sync/records/prepare.ts';
import { turns } from '../sync/records/turns.ts';
import type { OwnAddresses } from '../sync/subscriptions/callback.ts';
import type { SubscriptionPorts } from '../sync/subscriptions/declared.ts';
import type { ManagedSubscriptions } from '../sync/subscriptions/work.ts';
import { ClockWatch } from './clock/clock-watch.ts';
import { connectService, type ServiceConnection } from './connect-service.ts';
import { type HoldFiles, holdFiles } from './locks.ts';
import { type OpenFiles, openFiles } from './open-files.ts';
import { policyOf } from './policy.ts';
import { tellingInTime } from './sharing/copying.ts';
import { isOneOfSeveral, onlyTheLeader, type Sharing } from './sharing/sharing.ts';
import { manageSubscriptions } from './subscriptions.ts';

/** Overrides for tests (time, randomness, parts that need a receiver), and dependencies that outlive the wiring. */
export interface Overrides {
  readonly clock?: Clock;
  readonly chance?: Chance;
  readonly entropy?: Entropy;
  /** Numbers files, for tests in which the disk's own numbers would differ from run to run. */
  readonly inodeOf?: InodeOf;
  /** Replaces the free space of the file system, which other programs change. */
  readonly spaceOf?: StoragePorts['spaceOf'];
  /** Callback addresses to use if the inbox has none. */
  readonly addresses?: OwnAddresses;
  /** Replaces the real request to our own public address. */
  readonly selfTest?: SubscriptionPorts['selfTest'];
  /** Addresses of a test's image host on this machine. No configuration can set these. */
  readonly imageHost?: { readonly addresses: readonly string[] };
  /** Replaces the check of a whole file, which runs in a process with its own time. */
  readonly checkFile?: FileWatchOptions['checkFile'];
  /** Watches the backup before a change of the schema, and can end it. */
  readonly upgrade?: UpgradeWatch;
  /** Takes the locks of the files in another way. */
  readonly hold?: HoldFiles;
  /** The resources that the leader of several instances shares with the others; absent: this is the only instance. */
  readonly sharing?: Sharing;
}

/** All connected parts, of the daemon or of a command that works without one. */
export interface Wiring
  extends AsyncDisposable,
    Pick<OpenFiles, 'mirror' | 'inbox' | 'files' | 'storage'>,
    Pick<ServiceConnection, 'limiter' | 'raw' | 'probe' | 'serviceClock'> {
  readonly config: Config;
  readonly ports: Ports;
  readonly subscriptions: ManagedSubscriptions;
  /** Watches for a wrong clock of the machine, repairs stored instants and raises the alarm. */
  readonly watch: ClockWatch;
  /** Returns the paths that the service is known not to have. */
  notOffered(): OptionalPath[];
  /** The number of records that are worked on at the same time. */
  readonly workers: number;
  /** Null: this is the only instance. */
  readonly sharing: Sharing | null;
}

type Loaded = Pick<LoadedConfig, 'config' | 'secrets' | 'adapter'>;

/**
 * Reads the secrets (77, 78), takes the lock (75), opens both files and connects the client to them. Disposing closes
 * in reverse order and records a clean end.
 */
export async function wire(loaded: Loaded, log: Logger, overrides: Overrides = {}): Promise<Wiring> {
  const stack = new AsyncDisposableStack();
  try {
    const { clock: machine = systemClock, chance = systemChance, entropy = systemEntropy } = overrides;
    const { checkFile, inodeOf, spaceOf, imageHost, upgrade = unwatched, hold = holdFiles } = overrides;
    requireSecrets(loaded.secrets);
    const sharing = overrides.sharing ?? null;
    if (sharing === null && isOneOfSeveral(loaded)) throw onlyTheLeader();
    const opened = await openFiles(stack, loaded, {
      machine,
      entropy,
      log,
      checkFile,
      inodeOf,
      spaceOf,
      upgrade,
      hold,
      sharing,
    });
    const imageAddresses = imageHost?.addresses ?? [];
    const service = connectService(stack, loaded, opened, {
      chance,
      log,
      imageAddresses,
      leadership: sharing?.leadership,
    });
    return wired(stack, { loaded, log, chance, entropy, overrides, opened, service });
  } catch (error) {
    await stack.disposeAsync().catch(() => undefined);
    throw error;
  }
}

interface Parts {
  readonly loaded: Loaded;
  readonly log: Logger;
  readonly chance: Chance;
  readonly entropy: Entropy;
  readonly overrides: Overrides;
  readonly opened: OpenFiles;
  readonly service: ServiceConnection;
}

function wired(
  stack: AsyncDisposableStack,
  { loaded, log, chance, entropy, overrides, opened, service }: Parts,
): Wiring {
  const { config } = loaded;
  const { mirror, inbox, files, storage, clock, gone_since } = opened;
  const { limiter, upstream, raw, probe, serviceClock } = service;
  const policy = policyOf(config, mirror.offers.offers);
  const retries = retryBudget();
  const base = {
    upstream,
    mirror,
    clock,
    chance,
    entropy,
    log,
    policy,
    retries,
    pageTurns: turns(),
    answerLengths: answerLengths(),
    siblings: new Siblings(clock.now()),
    budget: limiter.learned,
  };
  const judged = { ...base, evidence: new Evidence(base) };
  const ports = { ...judged, refusals: new Refusals(judged, probe) };
  const watch = new ClockWatch({ time: clock, mirror, inbox, log, ask: probe, moved: serviceClock.forget });
  // Instants that a wrong clock wrote are repaired first, so that planning uses the right time.
  watch.observe();
  forgetUnasked(mirror, config.service.profile);
  prepareRecords(ports);
  // Deliveries that cannot be applied again count as never received.
  if (gone_since !== null) noteAbsence(ports, gone_since);
  const subscriptions = subscriptionsOf({ loaded, overrides, opened, service }, ports);
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
    raw,
    notOffered: () => mirror.offers.missing().map(({ path }) => path),
    serviceClock,
    workers: config.budget.concurrency,
    sharing: overrides.sharing ?? null,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function subscriptionsOf(
  { loaded, overrides, opened, service }: Pick<Parts, 'loaded' | 'overrides' | 'opened' | 'service'>,
  ports: Ports,
): ManagedSubscriptions {
  const { inbox, clock } = opened;
  const { addresses, selfTest } = overrides;
  return manageSubscriptions({
    loaded,
    ports,
    mayRotate: () => clock.look().mayPrune,
    addresses: addresses ?? (loaded.secrets.receiver_secret === null ? null : inbox.addresses),
    tellAddresses:
      overrides.sharing === undefined ? null : tellingInTime(overrides.sharing.deliveries, inbox.addresses, clock),
    // The receiver's 404 has no body; a proxy's has one.
    refusal: '',
    ...(selfTest === undefined ? {} : { selfTest }),
    asker: service.asker,
    limiter: service.limiter,
    service_clock: service.serviceClock,
  });
}

/** Forgets missing paths that the configuration no longer uses. */
function forgetUnasked(mirror: Mirror, { paths, subscription_reads }: Config['service']['profile']): void {
  const asked = { ...paths, subscription: subscription_reads ? paths.subscription : null };
  mirror.transaction(() => {
    for (const path of optionalPaths) if (asked[path] === null) mirror.offers.forget(path);
  });
}
