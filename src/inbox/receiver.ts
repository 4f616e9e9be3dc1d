import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import fastify from 'fastify';
import type { Clock } from '../clock.ts';
import { CataloguedError, exitCodes } from '../errors.ts';
import { listenAddress } from '../listen-address.ts';
import type { Logger } from '../log.ts';
import { SyncFailed } from '../sqlite/failed-sync.ts';
import type { CallbackAddresses } from './addresses.ts';
import { type AdmissionRules, admit, type RefusalReason } from './admission.ts';
import { networksOf, unixPeer } from './allowlist.ts';
import type { Deliveries, Received } from './deliveries.ts';
import { groupCommit } from './group-commit.ts';
import { type BodyLimits, readBody } from './read-body.ts';
import { refusalLog } from './refusal-log.ts';

/** How much of one caller is endured (reliability 2.2). Milliseconds and bytes. */
export interface ReceiverLimits {
  readonly connections: number;
  readonly headers_timeout: number;
  readonly request_timeout: number;
  /** How often those two are checked. */
  readonly check_every: number;
  readonly keep_alive: number;
  readonly header_bytes: number;
  readonly headers: number;
  readonly requests_per_socket: number;
  readonly body: BodyLimits;
  /** How long accepted deliveries may take once it stops. */
  readonly drain: number;
}

const receiverLimits: ReceiverLimits = {
  connections: 200,
  headers_timeout: 5000,
  request_timeout: 10_000,
  check_every: 1000,
  keep_alive: 5000,
  header_bytes: 8192,
  headers: 50,
  requests_per_socket: 100,
  body: { bytes: 1024 * 1024, kept_bytes: 4096 },
  drain: 5000,
};

export interface Refusal {
  readonly reason: RefusalReason;
  readonly peer: string;
}

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
  readonly clock: Clock;
  readonly log: Logger;
  /** Something is stored and waits to be applied. */
  received(): void;
  refused?(refusal: Refusal): void;
  readonly limits?: Partial<ReceiverLimits>;
}

/** Since its start. */
export interface ReceiverCounts {
  readonly stored: number;
  /** Of those, cut because they were too long. */
  readonly truncated: number;
  /** Answered 503: they could not be stored. */
  readonly failed: number;
  /** Their sender left before the end. */
  readonly unfinished: number;
  readonly refused: Readonly<Record<RefusalReason, number>>;
}

/** Takes deliveries. Disposing lets accepted ones end, within `limits.drain`, and takes no more. */
export interface Receiver extends AsyncDisposable {
  /** A URL, or the socket as the configuration names it. */
  readonly address: string;
  counts(): ReceiverCounts;
  /** Rejects with a `SyncFailed`: the disk does not keep what it was given, and the daemon has to end (74). */
  readonly broken: Promise<never>;
}

/**
 * Listens for deliveries. 200 goes out only after the delivery is durable; 503 only where its commit failed; whatever
 * else is well-formed gets one and the same 404.
 */
export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { clock, log, deliveries } = options;
  const limits = { ...receiverLimits, ...options.limits };
  const listen = listenAddress(options.listen);
  const rules: AdmissionRules = {
    path_prefix: options.path_prefix.replace(/\/+$/, ''),
    allow: networksOf(options.allow),
    trusted: networksOf(options.trusted_proxies),
    addresses: options.addresses,
  };
  const counts = { stored: 0, truncated: 0, failed: 0, unfinished: 0 };
  const refused: Record<RefusalReason, number> = { path: 0, method: 0, address: 0, token: 0, dropped: 0 };
  const sayRefused = refusalLog(log, () => clock.monotonic());
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  let failing = false;
  let draining = false;

  const commits = groupCommit<Received>((group) => {
    try {
      deliveries.store(group);
    } catch (error) {
      if (!failing) log.error({ err: error }, 'the inbox cannot be written: deliveries are answered 503');
      failing = true;
      if (error instanceof SyncFailed) broken.reject(error);
      throw error;
    }
    if (failing) log.info('deliveries are stored again');
    failing = false;
    // After the answers, which nothing that it throws may change.
    setImmediate(options.received);
  });

  /** Deliveries that were admitted and are not answered yet, each with what gives it up. */
  const accepted = new Map<ServerResponse, () => void>();
  const idle = () => emptied?.resolve();
  let emptied: PromiseWithResolvers<void> | null = null;

  function handle(request: IncomingMessage, response: ServerResponse, target: string): void {
    if (isMalformed(request)) {
      answer(response, 400, 'close');
      return;
    }
    const facts = {
      method: request.method ?? '',
      target,
      peer: request.socket.remoteAddress ?? ('socket' in listen ? unixPeer : ''),
      forwarded: valuesOf(request, 'x-forwarded-for'),
    };
    const admission = admit(facts, rules, clock.now());
    if (!admission.admitted) {
      const { reason } = admission;
      refused[reason] += 1;
      sayRefused({ reason, peer: admission.caller });
      options.refused?.({ reason, peer: admission.caller });
      answer(response, 404, 'close');
      return;
    }
    if (request.headers.expect !== undefined) response.writeContinue();
    const { read, giveUp } = readBody(request, limits.body);
    accepted.set(response, giveUp);
    response.on('close', () => {
      accepted.delete(response);
      if (accepted.size === 0) idle();
    });
    void take(request, response, admission, read);
  }

  async function take(
    request: IncomingMessage,
    response: ServerResponse,
    { subscription_id, epoch, caller }: { subscription_id: string; epoch: number; caller: string },
    read: ReturnType<typeof readBody>['read'],
  ): Promise<void> {
    const line = { route: 'callback', subscription_id, epoch };
    const body = await read;
    if (body === null) {
      counts.unfinished += 1;
      log.debug({ ...line, outcome: 'unfinished' }, 'delivery');
      return answer(response, 503, 'close');
    }
    const content_type = request.headers['content-type']?.slice(0, 200) ?? null;
    const received_at = clock.now();
    try {
      await commits.add({ received_at, subscription_id, epoch, peer: caller, content_type, ...body });
    } catch {
      counts.failed += 1;
      log.debug({ ...line, outcome: 'failed' }, 'delivery');
      return answer(response, 503, 'close');
    }
    counts.stored += 1;
    if (body.truncated) counts.truncated += 1;
    log.debug({ ...line, outcome: body.truncated ? 'truncated' : 'stored' }, 'delivery');
    answer(response, 200, body.truncated || draining ? 'close' : 'keep');
  }

  // One, or two where a name has an address of either kind.
  const servers: Server[] = [];
  const app = fastify({
    logger: false,
    // Paths are compared as bytes: a router would answer 400 to what it cannot decode.
    rewriteUrl: () => '/',
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    serverFactory: (handler) => {
      const server = createServer(
        {
          headersTimeout: limits.headers_timeout,
          requestTimeout: limits.request_timeout,
          connectionsCheckingInterval: limits.check_every,
          keepAliveTimeout: limits.keep_alive,
          maxHeaderSize: limits.header_bytes,
        },
        handler,
      );
      servers.push(server);
      server.maxConnections = limits.connections;
      server.maxHeadersCount = limits.headers;
      server.maxRequestsPerSocket = limits.requests_per_socket;
      // Otherwise Node would answer these by itself, before anything is known of the caller.
      server.on('checkContinue', handler).on('checkExpectation', handler);
      server.on('connect', (_, socket) => socket.end(refusalBytes));
      return server;
    },
  });
  // Every request is taken over before Fastify parses anything, so its own 400, 413 and 415 never leave.
  app.addHook('onRequest', (request, reply, _done) => {
    reply.hijack();
    handle(request.raw, reply.raw, request.originalUrl);
  });
  try {
    const local = 'socket' in listen;
    if (local) rmSync(listen.socket, { force: true });
    const url = await app.listen(local ? { path: listen.socket } : { host: listen.host, port: listen.port });
    if (local) chmodSync(listen.socket, 0o660);
    // What is not HTTP gets Node's own 400, 408 or 431.
    for (const server of servers) server.removeAllListeners('clientError');
    return {
      address: local ? options.listen : url,
      counts: () => ({ ...counts, refused: { ...refused } }),
      broken: broken.promise,
      async [Symbol.asyncDispose]() {
        draining = true;
        const closed = app.close();
        emptied = Promise.withResolvers<void>();
        if (accepted.size === 0) idle();
        using patience = clock.deadline(limits.drain);
        patience.signal.addEventListener('abort', () => {
          for (const giveUp of accepted.values()) giveUp();
        });
        await emptied.promise;
        for (const server of servers) server.closeAllConnections();
        await closed;
      },
    };
  } catch (error) {
    await app.close();
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : (code ?? String(error));
    throw new CataloguedError('receiver-listen', `cannot listen on ${options.listen}: ${reason}`, {
      exitCode: code === 'EACCES' ? exitCodes.permission : exitCodes.io,
      hint: 'name another receiver.listen, or stop the program that holds it',
      cause: error,
    });
  }
}

const refusalBytes = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

function answer(response: ServerResponse, status: 200 | 400 | 404 | 503, connection: 'keep' | 'close'): void {
  // A refusal tells nothing, not even the time.
  if (status === 404) response.sendDate = false;
  response.writeHead(status, { 'content-length': '0', ...(connection === 'close' ? { connection: 'close' } : {}) });
  response.end();
}

/** What Node lets pass although two readers could understand it differently. */
function isMalformed(request: IncomingMessage): boolean {
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return true;
  return valuesOf(request, 'host').length > 1;
}

/** Every header of that name, in order; Node joins or drops repeated ones. */
function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  return values;
}
