import type { Config, LoadedConfig } from '../config/load.ts';
import { requireSecrets } from '../config/secrets.ts';
import { createSync } from '../cycle/create-sync.ts';
import { Writer } from '../files/writer.ts';
import { ZoneFiles } from '../files/zone-files.ts';
import type { Mirror } from '../mirror/mirror.ts';
import { noteAbsence } from '../push/coverage.ts';
import type { ManagedSubscriptions } from '../push/subscriptions.ts';
import { optionalPaths } from '../schedule/offer.rules.ts';
import type { NotOffered } from '../schedule/offers.store.ts';
import { prepareRecords } from '../schedule/prepare-records.ts';
import type { Sync } from '../schedule/sync.ts';
import { ClockWatch } from './clock/clock-watch.ts';
import { Crowding } from './crowding.ts';
import { applyAgain, type OpenFiles, openFiles } from './files.ts';
import type { Machine } from './machine.ts';
import { policyOf } from './policy.ts';
import { connectService, type ServiceConnection } from './service.ts';
import { isOneOfSeveral, onlyTheLeader, type Sharing } from './sharing/sharing.ts';
import { manageSubscriptions } from './subscriptions.ts';

/**
 * Everything that keeps the mirror in sync: the open files, the connection to the service, and the sync work between
 * them. A command that works without a daemon needs no more; a daemon adds its schedule, its receiver and its
 * interfaces.
 */
export interface Mirroring extends OpenFiles, ServiceConnection, AsyncDisposable {
  readonly machine: Machine;
  readonly config: Config;
  readonly writer: Writer;
  /** Chooses between the time zones of the machine and of the runtime. */
  readonly zones: ZoneFiles;
  readonly sync: Sync;
  readonly subscriptions: ManagedSubscriptions;
  /** Watches for a wrong clock of the machine, repairs stored instants and records the doubt. */
  readonly watch: ClockWatch;
  /** Null: this is the only instance. */
  readonly sharing: Sharing | null;
  readonly crowding: Crowding;
  /** Returns the paths that the service is known not to have. */
  notOffered(): NotOffered[];
}

/**
 * Reads the secrets (77, 78), takes the locks (75), opens both files and connects the client to them. Disposing closes
 * in reverse order and records a clean end. `sharing`: the resources that the leader of several instances shares.
 */
export async function openMirroring(
  machine: Machine,
  loaded: LoadedConfig,
  sharing: Sharing | null = null,
): Promise<Mirroring> {
  await using stack = new AsyncDisposableStack();
  const { config, secrets } = loaded;
  const { chance, entropy, log } = machine;
  requireSecrets(secrets);
  if (sharing === null && isOneOfSeveral(loaded)) throw onlyTheLeader();
  const opened = await openFiles(stack, machine, loaded, sharing);
  const { mirror, inbox, clock } = opened;
  const writer = stack.use(new Writer({ mirror, inbox, clock, log, spaceOf: machine.disk.spaceOf }));
  const gone_since = applyAgain(mirror, inbox, log);
  const zones = stack.use(new ZoneFiles(machine.zones, { mirror, clock, log }));
  const service = connectService(stack, machine, loaded, { ...opened, writer }, sharing);
  const { upstream, probe, limiter, serviceClock } = service;
  const policy = policyOf(config, (resource) => mirror.schedule.offers.offers(resource));
  const sync = createSync(
    { upstream, mirror, clock, chance, entropy, log, policy, budget: () => limiter.learned() },
    probe,
  );
  const watch = new ClockWatch({
    time: clock,
    mirror,
    inbox,
    log,
    ask: probe,
    moved: serviceClock.forget,
  });
  // Instants that a wrong clock wrote are repaired first, so that planning uses the right time.
  watch.observe();
  forgetUnasked(mirror, config.service.profile);
  prepareRecords(sync);
  zones.look();
  // Deliveries that cannot be applied again count as never received.
  if (gone_since !== null) noteAbsence(sync, gone_since);
  const crowding = new Crowding(clock, log);
  const parts = { ...opened, ...service, machine, config, writer, zones, sync, watch, sharing, crowding };
  const subscriptions = manageSubscriptions(loaded, parts);
  const closing = stack.move();
  return {
    ...parts,
    subscriptions,
    notOffered: () => mirror.schedule.offers.missing(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Forgets missing paths that the configuration no longer uses. */
function forgetUnasked(mirror: Mirror, { paths, subscription_reads }: Config['service']['profile']): void {
  const asked = { ...paths, subscription: subscription_reads ? paths.subscription : null };
  mirror.transaction(() => {
    for (const path of optionalPaths) if (asked[path] === null) mirror.schedule.offers.forget({ path });
  });
}
