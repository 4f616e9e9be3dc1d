import type { Clock } from '../clock.ts';
import type { Config } from '../config/load.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { couldOnlyMatchProxy, isAllowed, networksOf } from '../inbox/allowlist.ts';
import type { Received } from '../inbox/delivery.ts';
import { type Receiver, startReceiver } from '../inbox/receiver.ts';
import type { OpenListener } from '../kept-listener.ts';
import type { Logger } from '../log.ts';
import { SyncFailed } from '../sqlite/failed-sync.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import { type Applied, applyDeliveries, noteDropped } from '../sync/notifications/apply.ts';
import { healGaps, noteAbsence } from '../sync/notifications/coverage.ts';
import { type Copying, copyingFor } from './sharing/copying.ts';
import { storingIn } from './sharing/sharing.ts';
import type { Wiring } from './wiring.ts';

/**
 * The receiver of a daemon, and the application of what it stored. Disposing stops receiving and waits for the work
 * under way.
 */
export interface Receiving extends AsyncDisposable {
  readonly receiver: Receiver;
  /** Applies waiting deliveries. Calls made meanwhile cause one more round. */
  apply(): Promise<void>;
  /** Notes that deliveries can be received, and retries those that could not be applied; run every minute. */
  maintain(): Promise<void>;
  /** Copies what other instances have received into the inbox; null: there are none. */
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
 * How long what comes after an application waits for others: each application waits for the disk three times. Not where it
 * takes more than this share of what the inbox may hold: what is not applied leaves no room.
 */
const applyApartMs = 100;
const applyAtOnce = 1 / 16;

export interface ReceivingOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** `force` starts even if the allow-list could only ever match the proxy. */
  readonly rule: 'check' | 'force';
  readonly kept?: OpenListener | undefined;
  applied(counts: Applied): void;
  broken(error: unknown): void;
}

/** Refuses an allow-list that could only ever match the proxy (78), unless that is forced. */
export function refuseAllowList({ receiver }: Pick<Config, 'receiver'>, rule: ReceivingOptions['rule']): void {
  const problem = couldOnlyMatchProxy(receiver);
  if (problem !== null && rule === 'check')
    throw new CataloguedError('allow-list', problem.message, { exitCode: exitCodes.configuration, hint: problem.hint });
}

/** Starts the receiver of a wiring. Returns null without a master secret, because then there is no callback address. */
export async function startReceiving(
  { config, mirror, inbox, files, ports, storage, sharing }: Wiring,
  secret: unknown,
  { clock, log, signal, rule, kept, applied, broken }: ReceivingOptions,
): Promise<Receiving | null> {
  if (secret === null) return null;
  const { listen, public_url, allow, trusted_proxies } = config.receiver;
  refuseAllowList(config, rule);
  const networks = networksOf(allow);
  const refused: Caller[] = [];
  const stopping = new AbortController();
  let running: Promise<void> | null = null;
  let again = false;
  let soon: Promise<void> | null = null;
  let applied_at = Number.NEGATIVE_INFINITY;
  let waiting_bytes = 0;
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => {
    stopping.abort();
    await soon;
    await running;
  });

  async function work(): Promise<void> {
    do {
      again = false;
      waiting_bytes = 0;
      const counts = await applyDeliveries(ports, inbox.deliveries, signal);
      if (counts.applied + counts.superseded + counts.quarantined === 0) continue;
      mirror.transaction(() => mirror.subscriptions.delivered(inbox.deliveries.lastBySubscription()));
      applied(counts);
    } while (again && !signal.aborted);
  }

  /** Applies deliveries one round at a time. While the mirror is lost they wait in the inbox for the next start. */
  async function apply(): Promise<void> {
    if (!files.isWell('mirror')) return;
    again = true;
    // They wait in the inbox until the files can be written.
    running ??= storage
      .keepTrying(work, signal)
      .then(() => undefined, broken)
      .finally(() => {
        running = null;
        applied_at = clock.monotonic();
      });
    return running;
  }

  /** Applies what has just come: at once, or together with all that comes within a short time of the last application. */
  function applySoon(bytes = 0): void {
    waiting_bytes += bytes;
    if (waiting_bytes > config.retention.deliveries_bytes * applyAtOnce) {
      void apply();
      return;
    }
    if (soon !== null) return;
    const now = clock.monotonic();
    const wait = (running === null ? applied_at : now) + applyApartMs - now;
    const turn = wait <= 0 ? Promise.resolve() : clock.sleep(wait, stopping.signal).catch(() => undefined);
    soon = turn.then(() => {
      soon = null;
      return apply();
    });
  }

  const copying =
    sharing === null
      ? null
      : copyingFor({
          shared: sharing.deliveries,
          inbox,
          log,
          copied: applySoon,
          unwritable: storage.noticed,
        });
  stack.use(copying);
  const store = sharing === null ? null : storingIn(sharing.deliveries, log);
  /** What the database has is copied by and by; the answer waits for the database alone. */
  const elsewhere =
    store === null
      ? undefined
      : async (delivery: Received) => {
          await store(delivery);
          copying?.copy().catch(broken);
        };

  const receiver = await startReceiver({
    listen,
    elsewhere,
    kept,
    path_prefix: public_url === null ? '/' : new URL(public_url).pathname,
    allow,
    trusted_proxies,
    addresses: inbox.addresses,
    deliveries: {
      store: (group) => {
        const trouble = files.isWell('inbox') ? null : files.trouble();
        if (trouble !== null) throw trouble;
        inbox.deliveries.store(group);
      },
    },
    clock,
    log,
    received: applySoon,
    unwritable: storage.noticed,
    refused: ({ reason, caller }) => {
      if (reason === 'dropped') {
        try {
          noteDropped(ports);
        } catch (error) {
          // The next refused call notes it again.
          if (writeTroubleOf(error) === null) broken(error);
        }
      }
      if (reason !== 'address') return;
      refused.unshift({ peer: caller, received_at: clock.now(), allowed: false });
      refused.splice(refusedKept);
    },
  });
  stack.use(receiver);
  receiver.broken.catch(broken);

  /** When the inbox was last written, and whether a write has failed since. */
  const beat = { at: clock.now(), failed: false };

  function noteBeat(failed: boolean): void {
    const now = clock.now();
    inbox.deliveries.heartbeat(now);
    // Every delivery was answered 503 meanwhile, as if the receiver had been away.
    if (failed) noteAbsence(ports, beat.at);
    Object.assign(beat, { at: now, failed: false });
  }

  async function maintain(): Promise<void> {
    const attempt = { failed: beat.failed };
    beat.failed = true;
    try {
      storage.soon('heartbeat', () => noteBeat(attempt.failed));
      // If it is written only later, nothing could be received until then.
      attempt.failed = true;
    } catch (error) {
      if (error instanceof SyncFailed) throw error;
      log.error({ err: error }, 'the inbox cannot be written');
    }
    await sharing?.deliveries.heartbeat(clock.now()).catch(() => undefined);
    await apply();
    checkCounts();
  }

  /** Logs an error if deliveries were lost: each one received must be waiting, applied, superseded or in quarantine. */
  function checkCounts(): void {
    const { received, waiting, applied: done, superseded, quarantined } = inbox.deliveries.counts();
    const lost = received - waiting - done - superseded - quarantined;
    if (lost !== 0)
      log.error({ received, lost }, 'deliveries are missing from the inbox: received and settled do not add up');
  }

  noteAbsence(ports, sharing === null ? inbox.deliveries.heartbeats().last : sharing.last_alive_at);
  if (inbox.addresses.masterChanged() || inbox.feed.mirror === 'any') {
    if (inbox.addresses.masterChanged())
      log.warn(
        'the master secret has changed: new callback addresses are sent to the service; what it sends to the old ones meanwhile is lost',
      );
    mirror.transaction(() => mirror.subscriptions.addressesVoid());
    healGaps(ports);
  }
  // Applies what an earlier process received but did not apply.
  await maintain();
  const closing = stack.move();
  return {
    receiver,
    apply,
    maintain,
    copying,
    peers: () => [
      ...refused,
      ...inbox.deliveries
        .list({ since: null, state: null, limit: refusedKept })
        .map(({ peer, received_at }) => ({ peer, received_at, allowed: isAllowed(peer, networks) })),
    ],
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
