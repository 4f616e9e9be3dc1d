import type { Socket } from 'node:net';

export interface CrowdLimits {
  /** The most connections open at the same time. */
  readonly connections: number;
  /** The most deliveries of one caller under way at the same time. */
  readonly deliveries_per_caller: number;
  /** The most bytes of bodies in memory, of all callers together. One caller may use half of it. */
  readonly body_bytes: number;
}

/** A delivery that was admitted and not answered yet. */
export interface UnderWay extends Disposable {
  /** Reserves more bytes of its body. False: there is no room, and nothing was reserved. */
  takes(bytes: number): boolean;
}

/**
 * Decides which connection or delivery gives way when there are too many. Strangers displace only strangers: a
 * connection without a valid request under way closes, from the peer with the most such connections. A caller's
 * deliveries displace only its own.
 */
export interface Crowd {
  opened(socket: Socket): void;
  /** Registers an admitted request of this connection. `giveWay` ends it as one that could not be stored. */
  admitted(socket: Socket, caller: string, giveWay: () => void): UnderWay;
}

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** The number of its requests that are admitted and not answered. */
  busy: number;
}

interface Caller {
  /** Oldest first. */
  readonly deliveries: Set<() => void>;
  bytes: number;
}

export function crowd(limits: CrowdLimits): Crowd {
  // Oldest first.
  const connections = new Map<Socket, Connection>();
  const callers = new Map<string, Caller>();
  let bytes = 0;

  function makeRoom(): void {
    if (connections.size <= limits.connections) return;
    const idle = [...connections.values()].filter(({ busy }) => busy === 0);
    const counts = new Map<string, number>();
    for (const { peer } of idle) counts.set(peer, (counts.get(peer) ?? 0) + 1);
    const most = Math.max(...counts.values());
    // The new connection is one of them. If all others deliver, it is the one that closes.
    idle.find(({ peer }) => counts.get(peer) === most)?.socket.destroy();
  }

  return {
    opened: (socket) => {
      connections.set(socket, { socket, peer: socket.remoteAddress ?? '', busy: 0 });
      socket.once('close', () => connections.delete(socket));
      makeRoom();
    },
    admitted: (socket, name, giveWay) => {
      const connection = connections.get(socket);
      if (connection !== undefined) connection.busy += 1;
      const caller = callers.get(name) ?? { deliveries: new Set(), bytes: 0 };
      callers.set(name, caller);
      if (caller.deliveries.size >= limits.deliveries_per_caller)
        for (const oldest of caller.deliveries) {
          caller.deliveries.delete(oldest);
          oldest();
          break;
        }
      caller.deliveries.add(giveWay);
      let held = 0;
      return {
        takes: (more) => {
          if (bytes + more > limits.body_bytes || caller.bytes + more > limits.body_bytes / 2) return false;
          bytes += more;
          caller.bytes += more;
          held += more;
          return true;
        },
        [Symbol.dispose]: () => {
          bytes -= held;
          caller.bytes -= held;
          held = 0;
          caller.deliveries.delete(giveWay);
          if (caller.deliveries.size === 0 && caller.bytes === 0) callers.delete(name);
          if (connection !== undefined) connection.busy -= 1;
        },
      };
    },
  };
}
