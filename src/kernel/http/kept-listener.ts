import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';

/**
 * A listener that outlives whoever answers on it: a daemon that takes another configuration keeps its listeners open, and
 * requests that come meanwhile wait for the next one to answer.
 */
export interface KeptListener {
  /** A URL, or the socket as the configuration names it. */
  readonly address: string;
  /** True: somebody answers there. */
  isServed(): boolean;
  /** Hands every request to `handler` from now on, those that waited first. `opened` is called with each connection. */
  serve(handler: RequestListener, opened?: (socket: Socket) => void): ListenerTurn;
  /** Lets new requests wait. */
  hold(): void;
  /**
   * Listens again at a unix socket whose file was removed, unless it is being closed, which removes the file too.
   * Connections that are open stay open.
   */
  listenAgain(socket: string): Promise<void>;
  /** Takes no more connections and closes idle ones; resolves when none is left. */
  close(): Promise<void>;
  /** Ends the connections that are left. */
  cut(): void;
}

/** Somebody's turn to answer. */
export interface ListenerTurn {
  /** Ends the turn; resolves when each request of it is answered. */
  end(): Promise<void>;
  /** Ends the connections of requests that are not answered. */
  cut(): void;
}

export interface ListenerParts {
  /** Creates a server with its limits; called twice for a name that has both an IPv4 and an IPv6 address. */
  server(handler: RequestListener): Server;
  /** Has the app listen, and returns the address. Nothing else of the app is used. */
  bind(app: FastifyInstance): Promise<string>;
}

/** Opens a listener; throws what `bind` throws. */
export async function keepListening({ server, bind }: ListenerParts): Promise<KeptListener> {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const waiting: (readonly [IncomingMessage, ServerResponse])[] = [];
  let current: Turn | null = null;
  let isClosing = false;

  const handle: RequestListener = (request, response) => {
    if (current === null) waiting.push([request, response]);
    else current.take(request, response);
  };
  function opened(socket: Socket): void {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    current?.opened(socket);
  }

  const app = fastify({
    logger: false,
    forceCloseConnections: 'idle',
    serverFactory: () => {
      const each = server(handle).on('connection', opened);
      servers.push(each);
      return each;
    },
  });
  try {
    const address = await bind(app);
    return {
      address,
      isServed: () => current !== null,
      serve: (handler, told = () => undefined) => {
        const turn = turnOf(handler, told);
        current = turn;
        for (const socket of sockets) told(socket);
        for (const [request, response] of waiting.splice(0)) if (!response.destroyed) turn.take(request, response);
        return {
          end: () => {
            if (current === turn) current = null;
            return turn.none();
          },
          cut: turn.cut,
        };
      },
      hold: () => {
        current = null;
      },
      listenAgain: async (socket) => {
        if (isClosing) return;
        for (const each of servers) {
          each.close();
          each.listen(socket);
          await once(each, 'listening');
        }
      },
      close: async () => {
        isClosing = true;
        await app.close();
      },
      cut: () => {
        for (const each of servers) each.closeAllConnections();
      },
    };
  } catch (error) {
    await app.close();
    throw error;
  }
}

interface Turn {
  take(request: IncomingMessage, response: ServerResponse): void;
  opened(socket: Socket): void;
  none(): Promise<void>;
  cut(): void;
}

function turnOf(handler: RequestListener, opened: (socket: Socket) => void): Turn {
  const open = new Set<ServerResponse>();
  let emptied: (() => void) | null = null;
  return {
    take: (request, response) => {
      open.add(response);
      response.once('close', () => {
        open.delete(response);
        if (open.size === 0) emptied?.();
      });
      handler(request, response);
    },
    opened,
    none: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      emptied = resolve;
      if (open.size === 0) resolve();
      return promise;
    },
    cut: () => {
      for (const response of open) response.destroy();
    },
  };
}

/** Opens a listener, or takes one that is kept open at the same address. */
export type OpenListener = (listen: string, parts: ListenerParts) => Promise<KeptListener>;

/** The listeners of a daemon, from one configuration to the next. */
export interface KeptListeners {
  readonly open: OpenListener;
  /** Lets all new requests wait. */
  hold(): void;
  /** Closes those on which nobody answers. */
  closeUnused(): Promise<void>;
  /** Takes no more connections anywhere; resolves when none is left. */
  close(): Promise<void>;
  /** Ends the connections that are left. */
  cut(): void;
}

export function keepListeners(): KeptListeners {
  const kept = new Map<string, KeptListener>();
  return {
    open: async (listen, parts) => {
      const listener = kept.get(listen) ?? (await keepListening(parts));
      kept.set(listen, listener);
      return listener;
    },
    hold: () => {
      for (const listener of kept.values()) listener.hold();
    },
    closeUnused: async () => {
      for (const [listen, listener] of kept) {
        if (listener.isServed()) continue;
        kept.delete(listen);
        const closed = listener.close();
        listener.cut();
        await closed;
      }
    },
    close: async () => void (await Promise.all([...kept.values()].map((listener) => listener.close()))),
    cut: () => {
      for (const listener of kept.values()) listener.cut();
    },
  };
}
