import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Instant } from '../clock.ts';
import type { RoomOptions } from '../connection-room.ts';
import { longestDelivery } from '../domain/push/delivery-text.ts';
import type { Logger } from '../log.ts';
import { SyncFailed } from '../sqlite/failed-sync.ts';
import { writeTroubleOf } from '../sqlite/fault.ts';
import { GroupCommit, type TryAgain } from '../sqlite/group-commit.ts';
import type { CallbackAddresses } from './addresses.ts';
import { type AdmissionRules, type Admitted, admit, type Refused } from './admission.ts';
import { networksOf, unixPeer } from './allowlist.ts';
import { InboxFull } from './byte-budget.ts';
import { type Crowd, type CrowdLimits, crowd } from './crowd.ts';
import type { Deliveries } from './deliveries.ts';
import type { Received } from './delivery.ts';
import { answer, type ListenerLimits, type ListenerPorts, startListener, valuesOf } from './listener.ts';
import { type BodyLimits, readBody } from './read-body.ts';
import { refusalLog } from './refusal-log.ts';

export interface ReceiverLimits extends ListenerLimits, CrowdLimits {
  readonly body: BodyLimits;
  /** Milliseconds for which accepted deliveries may take when it stops. */
  readonly drain: number;
}

const receiverLimits: ReceiverLimits = {
  connections: 200,
  deliveries_per_caller: 100,
  body_bytes: 8 * 1024 * 1024,
  headers_timeout: 5000,
  request_timeout: 10_000,
  check_every: 1000,
  keep_alive: 5000,
  header_bytes: 8192,
  headers: 50,
  requests_per_socket: 100,
  body: { bytes: longestDelivery, kept_bytes: 4096 },
  drain: 5000,
};

export interface ReceiverOptions {
  /** HOST:PORT or unix:PATH. */
  readonly listen: string;
  /** The path of public_url. */
  readonly path_prefix: string;
  /** Addresses and networks that may call; empty: all. */
  readonly allow: readonly string[];
  readonly trusted_proxies: readonly string[];
  readonly addresses: Pick<CallbackAddresses, 'recognise'>;
  readonly deliveries: Pick<Deliveries, 'store'>;
  /** Stores a delivery durably in another place instead of `deliveries`; rejects if it cannot. */
  readonly elsewhere?: ((delivery: Received) => Promise<void>) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns whether a token is that of a test of our own address, which is refused but not counted or logged. */
  isOwnTest(token: string, at: Instant): boolean;
  /** Called when a delivery is stored and waits to be applied. */
  received(bytes: number): void;
  /** Called for each failed commit, even if it is repeated. */
  unwritable?(error: unknown): void;
  /** Called for each refused request. `dropped`: an address that was withdrawn is still in use, which is a condition. */
  refused?(refusal: Refused): void;
  /** What the process has room for, and who is told of connections that are closed to make some. */
  readonly room?: Pick<RoomOptions, 'limits' | 'displaced'> | undefined;
  readonly limits?: Partial<ReceiverLimits>;
  readonly kept?: ListenerPorts['kept'];
}

/** Counts since the start. */
export interface ReceiverCounts {
  readonly stored: number;
  /** Of those stored, the ones truncated because they were too long. */
  readonly truncated: number;
  /** Answered 503: could not be stored. */
  readonly failed: number;
  /** The sender left before the end. */
  readonly unfinished: number;
  /** Answered 503: too many at once, or too much data. */
  readonly crowded: number;
  readonly refused: Readonly<Record<Refused['reason'], number>>;
}

/** Receives deliveries. Disposing lets accepted ones end, within `limits.drain`, and accepts no more. */
export interface Receiver extends AsyncDisposable {
  /** A URL, or the socket as the configuration names it. */
  readonly address: string;
  counts(): ReceiverCounts;
  /** Rejects with a `SyncFailed`: the disk has lost a write, and the daemon has to end (74). */
  readonly broken: Promise<never>;
}

/**
 * Listens for deliveries. Answers 200 only after the delivery is durable, and 503 only if its commit failed or there
 * was no room. Every other well-formed request gets the same 404.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { clock, log } = options;
  const connections = Math.min(receiverLimits.connections, options.room?.limits.connections ?? Infinity);
  const limits = { ...receiverLimits, connections, ...options.limits };
  const rules: AdmissionRules = {
    path_prefix: options.path_prefix.replace(/\/+$/, ''),
    allow: networksOf(options.allow),
    trusted: networksOf(options.trusted_proxies),
    addresses: options.addresses,
  };
  const counts = { stored: 0, truncated: 0, failed: 0, unfinished: 0, crowded: 0 };
  const refused = { path: 0, method: 0, address: 0, token: 0, dropped: 0 };
  const sayRefused = refusalLog(log, () => clock.monotonic());
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  const { store, tryAgain } = durably(options, broken.reject);
  const commits = new GroupCommit({ store, tryAgain, monotonic: clock.monotonic });
  const keep = options.elsewhere ?? ((delivery: Received) => commits.add(delivery));
  const accepted = acceptedDeliveries();
  const callers: Crowd = crowd(limits, options.room?.displaced);

  function handle(request: IncomingMessage, response: ServerResponse, target: string): void {
    const at = clock.now();
    const admission = admit(
      {
        method: request.method ?? '',
        target,
        peer: request.socket.remoteAddress ?? (options.listen.startsWith('unix:') ? unixPeer : ''),
        forwarded: valuesOf(request, 'x-forwarded-for'),
      },
      rules,
      at,
    );
    if (admission.admitted) {
      void take(request, response, admission);
      return;
    }
    const isOwn = options.isOwnTest(target.slice(target.lastIndexOf('/') + 1), at);
    if (!isOwn) {
      refused[admission.reason] += 1;
      sayRefused(admission);
    }
    answer(response, 404, 'close');
    if (!isOwn) setImmediate(() => options.refused?.(admission));
  }

  async function take(request: IncomingMessage, response: ServerResponse, admitted: Admitted): Promise<void> {
    const { subscription_id, epoch, caller: peer } = admitted;
    const end = (outcome: keyof typeof counts, status: 200 | 503) => {
      counts[outcome] += 1;
      log.debug({ route: 'callback', subscription_id, epoch, outcome }, 'delivery');
      answer(response, status, status === 200 && outcome === 'stored' ? 'keep' : 'close');
    };
    if (request.headers.expect?.toLowerCase() === '100-continue' && request.httpVersion === '1.1')
      response.writeContinue();
    using underWay = callers.admitted(request.socket, peer, () => giveUp('no-room'));
    const { read, giveUp } = readBody(request, limits.body, underWay.takes);
    accepted.add(response, () => giveUp('left'));
    const body = await read;
    if (body === 'left' || body === 'no-room') {
      end(body === 'left' ? 'unfinished' : 'crowded', 503);
      return;
    }
    const content_type = request.headers['content-type']?.slice(0, 200) ?? null;
    try {
      await keep({ received_at: clock.now(), subscription_id, epoch, peer, content_type, ...body });
    } catch {
      end('failed', 503);
      return;
    }
    end(body.truncated ? 'truncated' : 'stored', 200);
  }

  const listener = await startListener(options.listen, limits, {
    handle,
    opened: callers.opened,
    kept: options.kept,
  });
  return {
    address: listener.address,
    counts: () => ({ ...counts, stored: counts.stored + counts.truncated, refused: { ...refused } }),
    broken: broken.promise,
    async [Symbol.asyncDispose]() {
      // From here on Node announces that it closes the connection.
      const closed = listener.close();
      using patience = clock.deadline(limits.drain);
      patience.signal.addEventListener('abort', () => accepted.giveUp());
      await accepted.none();
      listener.cut();
      await closed;
    },
  };
}

/**
 * Milliseconds for which a lock of another program is waited for, and the interval of attempts. The sender still waits
 * then.
 */
const lockPatience = { ms: 1000, every: 20 } as const;

/** Stores a group, or throws. Waits for locks. Logs the beginning and the end of a failure. */
function durably(
  { deliveries, log, received, unwritable, clock }: ReceiverOptions,
  broken: (error: SyncFailed) => void,
): { store: (group: readonly Received[]) => void; tryAgain: TryAgain } {
  let failing = false;
  return {
    store: (group) => {
      deliveries.store(group);
      if (failing) log.info('deliveries are stored again');
      failing = false;
      // Deferred, so an exception here cannot change the responses.
      setImmediate(
        received,
        group.reduce((bytes, { body }) => bytes + body.length, 0),
      );
    },
    tryAgain: (error, waited_ms) => {
      unwritable?.(error);
      if (!failing && writeTroubleOf(error) === 'locked' && waited_ms < lockPatience.ms)
        return clock.sleep(lockPatience.every);
      const problem = error instanceof InboxFull ? 'the inbox is full' : 'the inbox cannot be written';
      if (!failing) log.error({ err: error }, `${problem}: deliveries are answered 503`);
      failing = true;
      if (error instanceof SyncFailed) broken(error);
      return null;
    },
  };
}

/** Keeps the deliveries that were admitted and not answered yet. */
function acceptedDeliveries(): {
  add(response: ServerResponse, giveUp: () => void): void;
  giveUp(): void;
  /** Resolves when there is none. */
  none(): Promise<void>;
} {
  const open = new Map<ServerResponse, () => void>();
  let emptied: (() => void) | null = null;
  return {
    add: (response, giveUp) => {
      open.set(response, giveUp);
      response.on('close', () => {
        open.delete(response);
        if (open.size === 0) emptied?.();
      });
    },
    giveUp: () => {
      for (const each of open.values()) each();
    },
    none: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      emptied = resolve;
      if (open.size === 0) resolve();
      return promise;
    },
  };
}
