import type { Logger } from '../kernel/log.ts';
import { SyncFailed } from '../kernel/sqlite/failed-sync.ts';
import { writeTroubleOf } from '../kernel/sqlite/fault.ts';
import { applyDeliveries, noteDropped } from '../push/apply.ts';
import { healGaps, noteAbsence } from '../push/coverage.ts';
import type { MasterSecret } from '../receiver/addresses.store.ts';
import type { Refused } from '../receiver/admission.ts';
import { isAllowed, networksOf } from '../receiver/allowlist.ts';
import type { Received } from '../receiver/delivery.ts';
import type { Inbox } from '../receiver/inbox.ts';
import { type Desk, InboxDesk } from '../receiver/inbox-desk.ts';
import { type Receiver, startReceiver } from '../receiver/receiver.ts';
import type { FileFailures } from './files.ts';
import type { Mirroring } from './mirroring.ts';
import { Copying } from './sharing/copying.ts';
import { SharedDesk } from './sharing/sharing.ts';

/**
 * The receiver of a daemon, and the application of its stored deliveries. Disposing stops receiving and waits for the
 * work under way.
 */
export interface Receiving extends AsyncDisposable {
  readonly receiver: Receiver;
  /** Applies waiting deliveries. Calls made meanwhile cause one more round. */
  apply(): Promise<void>;
  /** Records that deliveries can be received, and retries those that could not be applied. Run every minute. */
  maintain(): Promise<void>;
  /** Copies deliveries that other instances have received into the inbox; null: there are no others. */
  readonly copying: Copying | null;
  /** Returns the last callers, newest first, and whether the allow-list admits them. */
  peers(): readonly Caller[];
}

export interface Caller {
  readonly peer: string;
  readonly received_at: number;
  readonly allowed: boolean;
}

/** The number of refused callers that are remembered. */
const refusedKept = 10;
/**
 * Milliseconds for which deliveries after a round wait for further ones, because each round waits for the disk three
 * times (mirror, inbox, subscriptions). They do not wait if they take more than this share of the inbox's space, because
 * unapplied deliveries leave no room.
 */
const applyApartMs = 100;
const applyAtOnce = 1 / 16;

export interface ReceivingOptions {
  readonly stopping: AbortSignal;
  readonly failures: FileFailures;
}

/** Starts the receiver. Returns null without a master secret, because then there is no callback address. */
export async function startReceiving(
  mirroring: Mirroring,
  secret: MasterSecret,
  { stopping, failures }: ReceivingOptions,
): Promise<Receiving | null> {
  if (secret === null) return null;
  const { machine, config, mirror, inbox, sync, writer, sharing, crowding } = mirroring;
  const { clock, log } = sync;
  const networks = networksOf(config.receiver.allow);
  const broken = (error: unknown) => failures.note('inbox', error);
  await using stack = new AsyncDisposableStack();
  const application = stack.use(new Application(mirroring, stopping, broken));
  const copying =
    sharing === null
      ? null
      : new Copying({
          shared: sharing.deliveries,
          inbox,
          log,
          copied: () => application.soon(),
          writer,
        });
  stack.use(copying);
  const desk = new LeaderDesk(mirroring, application, copying, broken);
  const receiver = await startReceiver({
    ...config.receiver,
    kept: machine.network.listen,
    room: crowding.of('receiver'),
    addresses: inbox.addresses,
    desk,
    clock,
    log,
  });
  stack.use(receiver);

  noteAbsence(sync, sharing === null ? inbox.deliveries.last_heartbeat : sharing.last_alive_at);
  if (inbox.addresses.masterChanged() || inbox.feed.mirror === 'any') {
    if (inbox.addresses.masterChanged())
      log.warn(
        'the master secret has changed: new callback addresses are sent to the service; what it sends to the old ones meanwhile is lost',
      );
    mirror.transaction(() => mirror.push.subscriptions.addressesVoid());
    healGaps(sync);
  }
  const heartbeat = new Heartbeat(mirroring);
  const maintain = async () => {
    await heartbeat.beat();
    await application.apply();
    checkCounts(inbox, log);
  };
  // Applies deliveries that an earlier process received but did not apply.
  await maintain();
  const closing = stack.move();
  return {
    receiver,
    apply: () => application.apply(),
    maintain,
    copying,
    peers: () => [
      ...desk.strangers,
      ...inbox.deliveries
        .list({ since: null, state: null, limit: refusedKept })
        .map(({ peer, received_at }) => ({ peer, received_at, allowed: isAllowed(peer, networks) })),
    ],
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Stores deliveries where this instance keeps them, and has them applied. */
class LeaderDesk implements Desk {
  readonly #mirroring: Mirroring;
  readonly #application: Application;
  readonly #copying: Copying | null;
  readonly #broken: (error: unknown) => void;
  readonly #kept: Desk;
  /** The last callers that the allow-list has refused, newest first. */
  readonly strangers: Caller[] = [];

  constructor(
    mirroring: Mirroring,
    application: Application,
    copying: Copying | null,
    broken: (error: unknown) => void,
  ) {
    const { sharing, files, inbox, writer, sync } = mirroring;
    this.#mirroring = mirroring;
    this.#application = application;
    this.#copying = copying;
    this.#broken = broken;
    const store = (group: readonly Received[]) => {
      const trouble = files.isWell('inbox') ? null : files.trouble();
      if (trouble !== null) throw trouble;
      writer.now(() => inbox.deliveries.store(group));
    };
    this.#kept =
      sharing === null ? new InboxDesk(store, sync.clock, sync.log) : new SharedDesk(sharing.deliveries, sync.log);
  }

  async keep(delivery: Received): Promise<void> {
    try {
      await this.#kept.keep(delivery);
    } catch (error) {
      if (error instanceof SyncFailed) this.#broken(error);
      throw error;
    }
    // The sender is answered first. What the database has is copied into the inbox, and then applied.
    if (this.#copying === null) setImmediate(() => this.#application.soon(delivery.body.length));
    else this.#copying.copy().catch(this.#broken);
  }

  refused({ reason, caller }: Refused): void {
    const { sync } = this.#mirroring;
    if (reason === 'dropped') {
      try {
        noteDropped(sync);
      } catch (error) {
        // The next refused call records it again.
        if (writeTroubleOf(error) === null) this.#broken(error);
      }
    }
    if (reason !== 'address') return;
    this.strangers.unshift({ peer: caller, received_at: sync.clock.now(), allowed: false });
    this.strangers.splice(refusedKept);
  }
}

/** Applies waiting deliveries, one round at a time. Disposing waits for the round under way, and begins no other. */
class Application implements AsyncDisposable {
  readonly #mirroring: Mirroring;
  readonly #signal: AbortSignal;
  readonly #broken: (error: unknown) => void;
  readonly #stopping = new AbortController();
  /** The rounds under way; null: none. */
  #running: Promise<void> | null = null;
  /** True if deliveries came during the round under way. */
  #again = false;
  /** The wait before the next round; null: none is planned. */
  #soon: Promise<void> | null = null;
  #applied_at = Number.NEGATIVE_INFINITY;
  #waiting_bytes = 0;

  constructor(mirroring: Mirroring, signal: AbortSignal, broken: (error: unknown) => void) {
    this.#mirroring = mirroring;
    this.#signal = signal;
    this.#broken = broken;
  }

  /** Applies the waiting deliveries. While the mirror is lost they stay in the inbox for the next start. */
  async apply(): Promise<void> {
    const { files, writer, sync } = this.#mirroring;
    if (!files.isWell('mirror')) return;
    this.#again = true;
    // They stay in the inbox until the files can be written.
    this.#running ??= writer
      .until(this.#signal, () => this.#rounds())
      .then(() => undefined, this.#broken)
      .finally(() => {
        this.#running = null;
        this.#applied_at = sync.clock.monotonic();
      });
    await this.#running;
  }

  /** Applies new deliveries: at once, or together with all that come within a short time after the last round. */
  soon(bytes = 0): void {
    const { config, sync } = this.#mirroring;
    this.#waiting_bytes += bytes;
    if (this.#waiting_bytes > config.retention.deliveries_bytes * applyAtOnce) {
      void this.apply();
      return;
    }
    if (this.#soon !== null) return;
    const now = sync.clock.monotonic();
    // A round under way has not ended yet, so all of the pause is still to come.
    const ended_at = this.#running === null ? this.#applied_at : now;
    const wait = applyApartMs - (now - ended_at);
    const turn = wait <= 0 ? Promise.resolve() : sync.clock.sleep(wait, this.#stopping.signal).catch(() => undefined);
    this.#soon = turn.then(() => {
      this.#soon = null;
      return this.apply();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#soon;
    await this.#running;
  }

  async #rounds(): Promise<void> {
    const { mirror, inbox, sync } = this.#mirroring;
    do {
      this.#again = false;
      this.#waiting_bytes = 0;
      const counts = await applyDeliveries(sync, inbox.deliveries, this.#signal);
      if (counts.applied + counts.superseded + counts.quarantined === 0) continue;
      mirror.transaction(() => mirror.push.subscriptions.delivered(inbox.deliveries.lastBySubscription()));
      sync.log.info({ ...counts }, 'deliveries applied');
    } while (this.#again && !this.#signal.aborted);
  }
}

/** Records in the inbox until when deliveries could be received. */
class Heartbeat {
  readonly #mirroring: Mirroring;
  /** Instant of the last write to the inbox. */
  #at: number;
  /**
   * True since a write has failed or waited: until the next success every delivery was answered 503, as if the receiver
   * had been away.
   */
  #failed = false;

  constructor(mirroring: Mirroring) {
    this.#mirroring = mirroring;
    this.#at = mirroring.sync.clock.now();
  }

  async beat(): Promise<void> {
    const { writer, sharing, sync } = this.#mirroring;
    let wasAway = this.#failed;
    this.#failed = true;
    try {
      // `soon` runs it at once if it can. If it runs later, it sees the new value: nothing could be received until then.
      writer.soon('heartbeat', () => this.#note(wasAway));
      wasAway = true;
    } catch (error) {
      if (error instanceof SyncFailed) throw error;
      sync.log.error({ err: error }, 'the inbox cannot be written');
    }
    await sharing?.deliveries.heartbeat(sync.clock.now()).catch(() => undefined);
  }

  #note(wasAway: boolean): void {
    const { inbox, sync } = this.#mirroring;
    const now = sync.clock.now();
    inbox.deliveries.heartbeat(now);
    if (wasAway) noteAbsence(sync, this.#at);
    this.#at = now;
    this.#failed = false;
  }
}

/** Logs an error if deliveries were lost: each one received must be waiting, applied, superseded or in quarantine. */
function checkCounts(inbox: Inbox, log: Logger): void {
  const { received, waiting, applied, superseded, quarantined } = inbox.deliveries.counts();
  const lost = received - waiting - applied - superseded - quarantined;
  if (lost !== 0)
    log.error({ received, lost }, 'deliveries are missing from the inbox: received and settled do not add up');
}
