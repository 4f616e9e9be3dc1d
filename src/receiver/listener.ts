import { chmodSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import { keepListening, type OpenListener } from '../kernel/http/kept-listener.ts';
import { listenAddress } from '../kernel/http/listen-address.ts';

/** The limits of one caller (reliability 2.2). Milliseconds and bytes. */
export interface ListenerLimits {
  readonly headers_timeout: number;
  readonly request_timeout: number;
  /** Interval of the checks of both timeouts. */
  readonly check_every: number;
  readonly keep_alive: number;
  readonly header_bytes: number;
  readonly headers: number;
  readonly requests_per_socket: number;
}

export interface Listener {
  /** A URL, or the socket as the configuration names it. */
  readonly address: string;
  /** Accepts no more connections and closes idle ones. Resolves when none is left. */
  close(): Promise<void>;
  /** Closes the remaining connections, in any state. */
  cut(): void;
}

export interface ListenerPorts {
  readonly handle: Handle;
  readonly opened: (socket: Socket) => void;
  /** Opens the listener, if it outlives this process's server; absent: it is opened and closed here. */
  readonly kept?: OpenListener | undefined;
}

/** Handles a request. `target` is the target in the request line, in origin form. */
type Handle = (request: IncomingMessage, response: ServerResponse, target: string) => void;

/**
 * Listens on HOST:PORT or unix:PATH, or takes over the listener that `kept` has open there. Passes every well-formed
 * request to `handle` before any of its body is read. A malformed request gets 400, 408 or 431, and its connection is
 * closed.
 */
export async function startListener(
  listen: string,
  limits: ListenerLimits,
  { handle, opened, kept }: ListenerPorts,
): Promise<Listener> {
  const servers: Server[] = [];
  const server = (handler: RequestListener) => {
    const each = serverWith(limits, handler);
    servers.push(each);
    return each;
  };
  const listener = await (kept ?? openAlone)(listen, { server, bind: (app) => bind(app, listen) });
  // Removes Fastify's handlers: a request that is not HTTP gets Node's answer.
  for (const each of servers) each.removeAllListeners('clientError');
  const serving = listener.serve((request, response) => {
    if (isMalformed(request)) answer(response, 400, 'close');
    else handle(request, response, originForm(request.url ?? ''));
  }, opened);
  return {
    address: listener.address,
    close: async () => {
      const closed = kept === undefined ? listener.close() : undefined;
      await serving.end();
      await closed;
    },
    cut: kept === undefined ? listener.cut : serving.cut,
  };
}

const openAlone: OpenListener = (_, parts) => keepListening(parts);

/** Answers without a body. All refusals (404) are identical to the last byte, for any reason. */
export function answer(response: ServerResponse, status: 200 | 400 | 404 | 503, connection: 'keep' | 'close'): void {
  // A refusal reveals nothing, not even the time.
  if (status === 404) response.sendDate = false;
  response.writeHead(status, { 'content-length': '0', ...(connection === 'close' ? { connection: 'close' } : {}) });
  response.end();
}

/** Returns all headers of that name, in order. Node's own `headers` joins or drops repeated ones. */
export function valuesOf({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? '');
  return values;
}

const refusalBytes = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

function serverWith(limits: ListenerLimits, handler: RequestListener): Server {
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
  server.maxHeadersCount = limits.headers;
  server.maxRequestsPerSocket = limits.requests_per_socket;
  // Otherwise Node would answer these itself, before the caller is known.
  server.on('checkContinue', handler).on('checkExpectation', handler);
  server.on('connect', (_, socket) => socket.end(refusalBytes));
  return server;
}

async function bind(app: FastifyInstance, listen: string): Promise<string> {
  const address = listenAddress(listen);
  try {
    if (!('socket' in address)) return await app.listen({ host: address.host, port: address.port });
    rmSync(address.socket, { force: true });
    await app.listen({ path: address.socket });
    // The proxy is another user of the same group.
    chmodSync(address.socket, 0o660);
    return listen;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'EADDRINUSE' ? 'it is in use' : (code ?? String(error));
    throw new CataloguedError('receiver-listen', `cannot listen on ${listen}: ${reason}`, {
      exitCode: code === 'EACCES' ? exitCodes.permission : exitCodes.io,
      hint: 'name another receiver.listen, or stop the program that holds it',
      cause: error,
    });
  }
}

/** Returns a target without scheme and authority, which some senders and proxies write too (RFC 9112 section 3.2.2). */
function originForm(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]+/i, '');
}

/** Returns whether two readers could understand a request differently although Node accepts it. */
function isMalformed(request: IncomingMessage): boolean {
  const coding = request.headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return true;
  return valuesOf(request, 'host').length > 1;
}
