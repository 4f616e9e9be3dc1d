import type { Socket } from 'node:net';

/** Numbers of connections that a listener holds. */
export interface RoomLimits {
  readonly connections: number;
  /** Of these, the most without an admitted request. The others' room is never theirs. */
  readonly strangers: number;
}

/** The room of a listener. */
export interface ListenerRoom {
  readonly limits: RoomLimits;
  /** Called with the other end's address of each connection that is closed to make room. */
  readonly displaced?: ((peer: string) => void) | undefined;
}

export interface RoomOptions extends ListenerRoom {
  /** Whole or part of a connection that an admitted request makes known. */
  readonly known: 'for its request' | 'for its connection';
}

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** The number of its requests that are admitted and not answered. */
  busy: number;
}

/**
 * Decides which connection of a listener closes when there are too many. Strangers displace only strangers, from the address
 * that has the most of them, the oldest first. A known connection gives way only to another known one, and only while it is idle.
 */
export class ConnectionRoom {
  readonly #options: RoomOptions;
  readonly #all = new Map<Socket, Connection>();
  // Both have the oldest first.
  readonly #strangers = new Set<Connection>();
  readonly #known = new Set<Connection>();

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  opened(socket: Socket): void {
    const connection = { socket, peer: socket.remoteAddress ?? '', busy: 0 };
    this.#all.set(socket, connection);
    this.#strangers.add(connection);
    socket.once('close', () => this.#forget(connection));
    const { connections, strangers } = this.#options.limits;
    // The new connection is a stranger's. If all others are known, it is the one that closes.
    if (this.#strangers.size > strangers || this.#all.size > connections) this.#close([...this.#strangers]);
  }

  /** Registers an admitted request. Disposed of when it is answered. */
  admitted(socket: Socket): Disposable {
    const connection = this.#all.get(socket);
    if (connection === undefined) return { [Symbol.dispose]: () => undefined };
    connection.busy += 1;
    this.#strangers.delete(connection);
    this.#known.add(connection);
    const { connections, strangers } = this.#options.limits;
    if (this.#known.size > connections - strangers) this.#close([...this.#known].filter(({ busy }) => busy === 0));
    return {
      [Symbol.dispose]: () => {
        connection.busy -= 1;
        if (this.#options.known === 'for its connection' || connection.busy > 0 || !this.#known.delete(connection))
          return;
        this.#strangers.add(connection);
      },
    };
  }

  #close(among: readonly Connection[]): void {
    const counts = new Map<string, number>();
    for (const { peer } of among) counts.set(peer, (counts.get(peer) ?? 0) + 1);
    const most = Math.max(...counts.values());
    const closing = among.find(({ peer }) => counts.get(peer) === most);
    if (closing === undefined) return;
    this.#forget(closing);
    closing.socket.destroy();
    this.#options.displaced?.(closing.peer);
  }

  #forget(connection: Connection): void {
    this.#all.delete(connection.socket);
    this.#strangers.delete(connection);
    this.#known.delete(connection);
  }
}
