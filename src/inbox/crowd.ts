import type { Socket } from 'node:net';

export interface CrowdLimits {
  /** Open at a time. */
  readonly connections: number;
  /** Deliveries under way at a time, of one caller. */
  readonly deliveries_per_caller: number;
  /** Bytes of bodies in memory, of all callers; of one it is half of it. */
  readonly body_bytes: number;
}

/** A delivery that was admitted and is not answered yet. */
export interface UnderWay extends Disposable {
  /** More of its body has come. False: that is more than there is room for, and nothing was noted. */
  takes(bytes: number): boolean;
}

/**
 * Who may stay where too many come at once. Strangers crowd out strangers: the connection that gives way is one that
 * has not shown a valid address, of the peer that holds most of those. A caller's deliveries crowd out only its own.
 */
export interface Crowd {
  opened(socket: Socket): void;
  /** Called where a request on this connection was admitted. `giveWay` ends it as one that could not be stored. */
  admitted(socket: Socket, caller: string, giveWay: () => void): UnderWay;
}

interface Connection {
  readonly socket: Socket;
  readonly peer: string;
  /** How many of its requests are admitted and not answered. */
  busy: number;
}

interface Caller {
  /** The oldest first. */
  readonly deliveries: Set<() => void>;
  bytes: number;
}

export function crowd(limits: CrowdLimits): Crowd {
  // The oldest first.
  const connections = new Map<Socket, Connection>();
  const callers = new Map<string, Caller>();
  let bytes = 0;

  function makeRoom(): void {
    if (connections.size <= limits.connections) return;
    const idle = [...connections.values()].filter(({ busy }) => busy === 0);
    const counts = new Map<string, number>();
    for (const { peer } of idle) counts.set(peer, (counts.get(peer) ?? 0) + 1);
    const most = Math.max(...counts.values());
    // The one that has just come is among them: where all others deliver, it is the one that leaves.
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
