import type { Socket } from 'node:net';
import { ConnectionRoom } from '../connection-room.ts';

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
 * Decides which connection or delivery gives way when there are too many. A connection without a valid request under way is
 * a stranger's (`ConnectionRoom`). A caller's deliveries displace only its own.
 */
export interface Crowd {
  opened(socket: Socket): void;
  /** Registers an admitted request of this connection. `giveWay` ends it as one that could not be stored. */
  admitted(socket: Socket, caller: string, giveWay: () => void): UnderWay;
}

interface Caller {
  /** Oldest first. */
  readonly deliveries: Set<() => void>;
  bytes: number;
}

export function crowd(limits: CrowdLimits, displaced?: (peer: string) => void): Crowd {
  const { connections } = limits;
  const room = new ConnectionRoom({
    limits: { connections, strangers: connections },
    known: 'for its request',
    displaced,
  });
  const callers = new Map<string, Caller>();
  let bytes = 0;
  return {
    opened: (socket) => room.opened(socket),
    admitted: (socket, name, giveWay) => {
      const underWay = room.admitted(socket);
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
          underWay[Symbol.dispose]();
        },
      };
    },
  };
}
