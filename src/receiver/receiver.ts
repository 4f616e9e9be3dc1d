import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../kernel/clock.ts';
import type { ListenerRoom } from '../kernel/http/connection-room.ts';
import type { Logger } from '../kernel/log.ts';
import { longestDelivery } from '../push/delivery-text.rules.ts';
import type { KnownAddresses } from './addresses.store.ts';
import { type AdmissionRules, type Admitted, admit, type Refused } from './admission.ts';
import { networksOf, unixPeer } from './allowlist.ts';
import { Crowd, type CrowdLimits } from './crowd.ts';
import type { Desk } from './inbox-desk.ts';
import { answer, type Listener, type ListenerLimits, type ListenerPorts, startListener, valuesOf } from './listener.ts';

const logEveryMs = 60_000;
/** The most peers that are logged separately. Refusals of further peers are counted together. */
const peersAtMost = 1000;

/**
 * Logs one line about refused requests per peer and minute, with the number since the last line. Never logs the
 * requested path.
 */
export class RefusalLog {
  readonly #log: Logger;
  readonly #monotonic: () => number;
  /** In the order of their last line, oldest first. */
  readonly #peers = new Map<string, { said_at: number; unsaid: number }>();

  constructor(log: Logger, monotonic: () => number) {
    this.#log = log;
    this.#monotonic = monotonic;
  }

  note({ reason, caller: peer, subscription_id, epoch }: Refused): void {
    const now = this.#monotonic();
    for (const [name, { said_at }] of this.#peers) {
      if (this.#peers.size < peersAtMost || now - said_at < logEveryMs) break;
      this.#peers.delete(name);
    }
    // The use of a dropped address is a condition, so it has its own line.
    const own = reason === 'dropped' ? `dropped ${peer}` : peer;
    const key = this.#peers.has(own) || this.#peers.size < peersAtMost ? own : 'others';
    const seen = this.#peers.get(key);
    if (seen !== undefined && now - seen.said_at < logEveryMs) {
      seen.unsaid += 1;
      return;
    }
    this.#peers.delete(key);
    this.#peers.set(key, { said_at: now, unsaid: 0 });
    const fields = { route: 'callback', peer: key === 'others' ? key : peer, reason, refused: 1 + (seen?.unsaid ?? 0) };
    if (reason === 'dropped')
      this.#log.warn({ ...fields, subscription_id, epoch }, 'an expired callback address was used');
    else this.#log.info(fields, 'requests refused');
  }
}

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
  /** The address at which the service reaches it; null: none is configured. */
  readonly public_url: string | null;
  /** Addresses and networks that may call; empty: all. */
  readonly allow: readonly string[];
  readonly trusted_proxies: readonly string[];
  readonly addresses: KnownAddresses;
  readonly desk: Desk;
  readonly clock: Clock;
  readonly log: Logger;
  /** What the process has room for, and who is told of connections that are closed to make some. */
  readonly room?: ListenerRoom | undefined;
  readonly limits?: Partial<ReceiverLimits>;
  readonly kept?: ListenerPorts['kept'];
}

type Outcome = 'stored' | 'truncated' | 'failed' | 'unfinished' | 'crowded';

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

/**
 * Listens for deliveries. Answers 200 only after the delivery is durable, and 503 only if its commit failed or there
 * was no room. Every other well-formed request gets the same 404.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const receiver = new Receiver(options);
  await receiver.listen();
  return receiver;
}

/** Receives deliveries. Disposing lets accepted ones end, within `limits.drain`, and accepts no more. */
export class Receiver implements AsyncDisposable {
  readonly #options: ReceiverOptions;
  readonly #limits: ReceiverLimits;
  readonly #rules: AdmissionRules;
  readonly #crowd: Crowd;
  readonly #refusals: RefusalLog;
  readonly #accepted = new AcceptedDeliveries();
  readonly #counts: Record<Outcome, number> = { stored: 0, truncated: 0, failed: 0, unfinished: 0, crowded: 0 };
  readonly #refused = { path: 0, method: 0, address: 0, token: 0, dropped: 0 };
  #listener: Listener | null = null;

  constructor(options: ReceiverOptions) {
    const { clock, log, room, addresses, public_url } = options;
    const connections = Math.min(receiverLimits.connections, room?.limits.connections ?? Infinity);
    this.#options = options;
    this.#limits = { ...receiverLimits, connections, ...options.limits };
    this.#rules = {
      path_prefix: public_url === null ? '' : new URL(public_url).pathname.replace(/\/+$/, ''),
      allow: networksOf(options.allow),
      trusted: networksOf(options.trusted_proxies),
      addresses,
    };
    this.#crowd = new Crowd(this.#limits, room?.displaced);
    this.#refusals = new RefusalLog(log, clock.monotonic);
  }

  async listen(): Promise<void> {
    const { listen, kept } = this.#options;
    this.#listener = await startListener(listen, this.#limits, {
      handle: (request, response, target) => this.#handle(request, response, target),
      opened: (socket) => this.#crowd.opened(socket),
      kept,
    });
  }

  /** A URL, or the socket as the configuration names it. */
  get address(): string {
    return this.#listener?.address ?? this.#options.listen;
  }

  counts(): ReceiverCounts {
    const { stored, truncated } = this.#counts;
    return { ...this.#counts, stored: stored + truncated, refused: { ...this.#refused } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // From here on Node announces that it closes the connection.
    const closed = this.#listener?.close();
    using patience = this.#options.clock.deadline(this.#limits.drain);
    patience.signal.addEventListener('abort', () => this.#accepted.giveUp());
    await this.#accepted.none();
    this.#listener?.cut();
    await closed;
  }

  #handle(request: IncomingMessage, response: ServerResponse, target: string): void {
    const { clock, listen, addresses, desk } = this.#options;
    const now = clock.now();
    const admission = admit(
      {
        method: request.method ?? '',
        target,
        peer: request.socket.remoteAddress ?? (listen.startsWith('unix:') ? unixPeer : ''),
        forwarded: valuesOf(request, 'x-forwarded-for'),
      },
      this.#rules,
      now,
    );
    if (admission.admitted) {
      void this.#take(request, response, admission);
      return;
    }
    const isOwn = addresses.isOwnTest(target.slice(target.lastIndexOf('/') + 1), now);
    if (!isOwn) {
      this.#refused[admission.reason] += 1;
      this.#refusals.note(admission);
    }
    answer(response, 404, 'close');
    if (!isOwn) setImmediate(() => desk.refused?.(admission));
  }

  async #take(request: IncomingMessage, response: ServerResponse, admitted: Admitted): Promise<void> {
    const { clock, log, desk } = this.#options;
    const { subscription_id, epoch, caller: peer } = admitted;
    const end = (outcome: Outcome, status: 200 | 503) => {
      this.#counts[outcome] += 1;
      log.debug({ route: 'callback', subscription_id, epoch, outcome }, 'delivery');
      answer(response, status, status === 200 && outcome === 'stored' ? 'keep' : 'close');
    };
    if (request.headers.expect?.toLowerCase() === '100-continue' && request.httpVersion === '1.1')
      response.writeContinue();
    using underWay = this.#crowd.admitted(request.socket, peer, () => giveUp('no-room'));
    const { read, giveUp } = readBody(request, this.#limits.body, underWay.takes);
    this.#accepted.add(response, () => giveUp('left'));
    const body = await read;
    if (body === 'left' || body === 'no-room') {
      end(body === 'left' ? 'unfinished' : 'crowded', 503);
      return;
    }
    const content_type = request.headers['content-type']?.slice(0, 200) ?? null;
    try {
      await desk.keep({ received_at: clock.now(), subscription_id, epoch, peer, content_type, ...body });
    } catch {
      end('failed', 503);
      return;
    }
    end(body.truncated ? 'truncated' : 'stored', 200);
  }
}

/** The deliveries that were admitted and not answered yet. */
class AcceptedDeliveries {
  readonly #open = new Map<ServerResponse, () => void>();
  #emptied: (() => void) | null = null;

  add(response: ServerResponse, giveUp: () => void): void {
    this.#open.set(response, giveUp);
    response.on('close', () => {
      this.#open.delete(response);
      if (this.#open.size === 0) this.#emptied?.();
    });
  }

  giveUp(): void {
    for (const each of this.#open.values()) each();
  }

  /** Resolves when there is none. */
  none(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#emptied = resolve;
    if (this.#open.size === 0) resolve();
    return promise;
  }
}

interface BodyLimits {
  /** The most bytes of a body; a longer one is truncated. */
  readonly bytes: number;
  /** The bytes that are kept of a truncated body. */
  readonly kept_bytes: number;
}

interface ReadBody {
  readonly body: Buffer;
  /** Bytes received until it was complete or truncated. */
  readonly length: number;
  readonly truncated: boolean;
}

/** The reason why there is no body: the sender left before the end, or there is no room for it. */
type NoBody = 'left' | 'no-room';

/**
 * Reads a request's body as received, without decoding. A body that is too long, or announces to be, is truncated as
 * soon as enough is there to keep. `takes` is called before each part is kept. `giveUp` ends the reading with its
 * reason.
 */
function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  takes: (bytes: number) => boolean = () => true,
): { readonly read: Promise<ReadBody | NoBody>; giveUp(why: NoBody): void } {
  const { promise, resolve } = Promise.withResolvers<ReadBody | NoBody>();
  const announced = Number(request.headers['content-length'] ?? 0);
  const enough = announced > limits.bytes ? limits.kept_bytes : limits.bytes + 1;
  // Allocated with the announced length, so that the body is copied once. Unwritten memory is not used.
  let held = Buffer.allocUnsafeSlow(Math.min(announced, enough));
  let length = 0;
  const end = (result: ReadBody | NoBody) => {
    request.off('data', add).off('end', complete).off('close', left).pause();
    resolve(result);
  };
  const add = (chunk: Buffer) => {
    if (!takes(chunk.length)) {
      end('no-room');
      return;
    }
    const end_at = length + chunk.length;
    if (end_at > held.length) held = longer(held, length, Math.max(end_at, Math.min(2 * held.length, enough)));
    chunk.copy(held, length);
    length = end_at;
    if (length < enough) return;
    // Copied, so that the rest does not stay in memory.
    end({ body: Buffer.from(held.subarray(0, limits.kept_bytes)), length, truncated: true });
  };
  const complete = () => end({ body: held.subarray(0, length), length, truncated: false });
  const left = () => end('left');
  request.on('data', add).on('end', complete).on('close', left);
  // The 'close' event reports the cause.
  request.on('error', () => undefined);
  return { read: promise, giveUp: end };
}

/** Returns a buffer of `room` bytes with the first `length` bytes of another. */
function longer(buffer: Buffer, length: number, room: number): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafeSlow(room);
  buffer.copy(copy, 0, 0, length);
  return copy;
}
