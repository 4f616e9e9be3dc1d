import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname } from 'node:path';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../kernel/clock.ts';
import { CataloguedError, type ExitCode, exitCodes } from '../kernel/errors.ts';
import { ConnectionRoom, type ListenerRoom } from '../kernel/http/connection-room.ts';
import { type KeptListener, keepListening, type OpenListener } from '../kernel/http/kept-listener.ts';
import { listenAddress } from '../kernel/http/listen-address.ts';

/** Settings of a listener: its name in errors, and the users who may connect to its socket. */
export interface ListenerSettings {
  /** The section of the configuration: `admin`, `storefront`. */
  readonly name: 'admin' | 'storefront';
  readonly listen: string;
  /** The mode of a unix socket: 0600 for this user only, 0660 for its group too. */
  readonly mode: 0o600 | 0o660;
}

/** The ports of a listener. */
export interface ListeningPorts {
  readonly clock: Clock;
  /** Opens the listener, if it outlives the server that answers; absent: it is opened and closed with its routes. */
  readonly kept?: OpenListener | undefined;
  readonly room: InterfaceRoom;
}

/** Numbers of connections and event streams that an interface holds. */
export interface InterfaceRoom extends ListenerRoom {
  readonly streams: number;
  /** Called for each event stream that is refused. */
  readonly streamRefused?: () => void;
}

/** Registers a request whose caller has shown a key, or may do without one: its connection is no stranger's any more. */
export type Admit = (request: FastifyRequest, reply: FastifyReply) => void;

/** An open listener. Disposing stops it and lets requests in progress finish for a while. */
export interface Listening extends AsyncDisposable {
  /** A URL, or the socket as the configuration names it. */
  readonly address: string;
  /** Its routes, each as a method and a path in the router's notation. */
  readonly routes: readonly string[];
}

/** A client that sends its head or request more slowly than this is disconnected. Milliseconds. */
const patience = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 1000 };
/** Milliseconds for which idle connections are kept: longer than common proxies keep theirs. */
const keepAliveMs = 72_000;
/** Milliseconds for which a client that still sends a request or reads an answer may delay the end of the daemon. */
const drainMs = 5000;

/**
 * Opens a listener with the routes that `routes` adds, or uses them to answer on a listener that `kept` has open. The routes
 * of a guarded interface admit requests; a unix socket is guarded by its mode. Disposing closes a listener that was opened here.
 */
export async function listenAt(
  door: ListenerSettings,
  { clock, kept, room: own }: ListeningPorts,
  routes: (app: FastifyInstance, admit: Admit) => void,
): Promise<Listening> {
  let handler: RequestListener = () => undefined;
  const app = fastify({
    logger: false,
    bodyLimit: 1024 * 1024,
    // This server never listens; the kept listener does.
    serverFactory: (own) => {
      handler = own;
      return createServer();
    },
  });
  const isLocal = door.listen.startsWith('unix:');
  const { connections } = own.limits;
  // On a unix socket nobody shows a key: all have the whole room, and those without a request under way give way.
  const room = new ConnectionRoom(
    isLocal
      ? { ...own, limits: { connections, strangers: connections }, known: 'for its request' }
      : { ...own, known: 'for its connection' },
  );
  const admit: Admit = ({ raw }, reply) => {
    const underWay = room.admitted(raw.socket);
    reply.raw.once('close', () => underWay[Symbol.dispose]());
  };
  if (isLocal) app.addHook('onRequest', async (request, reply) => admit(request, reply));
  const answered: string[] = [];
  app.addHook('onRoute', ({ method, url }) => void answered.push(`${String(method)} ${url}`));
  try {
    routes(app, admit);
    await app.ready();
    const listener = await (kept ?? openAlone)(door.listen, { server: serverOf, bind: (own) => bind(own, door) });
    const serving = listener.serve(handler, (socket) => room.opened(socket));
    const ended = new AbortController();
    const keeping = keepSocket(listener, door, clock, ended.signal);
    const close = async () => {
      ended.abort();
      await keeping;
      using patience = clock.deadline(drainMs);
      patience.signal.addEventListener('abort', serving.cut);
      const closed = kept === undefined ? listener.close() : undefined;
      const answeredAll = serving.end();
      // Also closes the streams, which never end by themselves.
      await app.close();
      await answeredAll;
      if (kept === undefined) listener.cut();
      await closed;
    };
    return { address: listener.address, routes: answered, [Symbol.asyncDispose]: close };
  } catch (error) {
    await app.close();
    throw error;
  }
}

const openAlone: OpenListener = (_, parts) => keepListening(parts);

function serverOf(handler: RequestListener): Server {
  return createServer({ keepAliveTimeout: keepAliveMs, ...patience }, handler);
}

async function bind(app: FastifyInstance, door: ListenerSettings): Promise<string> {
  const address = listenAddress(door.listen);
  try {
    if (!('socket' in address)) return await app.listen({ host: address.host, port: address.port });
    await makeWay(address.socket);
    await app.listen({ path: address.socket });
    chmodSync(address.socket, door.mode);
    return door.listen;
  } catch (error) {
    throw refusal(door, error);
  }
}

/**
 * Removes the socket that a killed process left behind. Never removes a socket on which a process answers, nor a file
 * that is not a socket.
 */
async function makeWay(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    // Otherwise Node would report a permission error.
    if (!existsSync(dirname(path))) throw Object.assign(new Error('no such directory'), { code: 'ENOENT' });
    return;
  }
  if (!found.isSocket()) throw Object.assign(new Error(`${path} is not a socket`), { code: 'EEXIST' });
  if (await answers(path)) throw Object.assign(new Error(`${path} is in use`), { code: 'EADDRINUSE' });
  rmSync(path, { force: true });
}

function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path)
    .once('connect', () => {
      socket.destroy();
      resolve(true);
    })
    .once('error', () => resolve(false));
  return promise;
}

/** Milliseconds between two inspections of a socket's file. */
const inspectedEveryMs = 1000;

/**
 * Makes a unix socket again whose file was removed, until the signal aborts: without it nobody could ask the daemon what
 * is wrong. A directory that only the daemon enters is made again too.
 */
async function keepSocket(
  listener: KeptListener,
  { listen, mode }: ListenerSettings,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const address = listenAddress(listen);
  if (!('socket' in address)) return;
  for (;;) {
    await clock.sleep(inspectedEveryMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      if (lstatSync(address.socket, { throwIfNoEntry: false }) !== undefined) continue;
      const directory = dirname(address.socket);
      if (mode === 0o600 && !existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
      await listener.listenAgain(address.socket);
      chmodSync(address.socket, mode);
    } catch {
      // Tried again a second later.
    }
  }
}

/** Reasons why an address cannot be used to listen, by system error code. */
const reasons: Readonly<Record<string, readonly [reason: string, exitCode: ExitCode, hint: string]>> = {
  EADDRINUSE: ['it is in use', exitCodes.io, 'stop the program that uses it, or choose another'],
  ENOENT: [
    'there is no such directory',
    exitCodes.configuration,
    'create the directory of the socket, or choose another',
  ],
  ENOTDIR: ['its directory is a file', exitCodes.configuration, 'name another'],
  EEXIST: ['there is a file that is not a socket', exitCodes.configuration, 'name another'],
  // Node reports EINVAL for a path that is too long for a socket.
  EINVAL: [
    'this path is too long for a socket',
    exitCodes.configuration,
    'choose a shorter path, of at most 107 bytes',
  ],
  EADDRNOTAVAIL: ['this machine has no such address', exitCodes.configuration, 'name an address of this machine'],
  ENOTFOUND: ['there is no such host', exitCodes.configuration, 'name an address of this machine'],
  EMFILE: [
    'this process may not open more files and connections',
    exitCodes.io,
    'raise the limit: ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit',
  ],
  EACCES: ['permission denied', exitCodes.permission, 'let this user write there, or choose another'],
};

function refusal({ name, listen }: ListenerSettings, cause: unknown): CataloguedError {
  const code = (cause as NodeJS.ErrnoException).code ?? '';
  const [reason, exitCode, hint] = reasons[code] ?? [code === '' ? String(cause) : code, exitCodes.io, 'name another'];
  return new CataloguedError(`${name}-listen`, `cannot listen on ${listen}: ${reason}`, {
    exitCode,
    hint: `${hint} (${name}.listen)`,
    cause,
  });
}
