import type { Socket } from 'node:net';
import { ConnectionRoom } from '../kernel/http/connection-room.ts';

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

interface Caller {
  /** Oldest first. */
  readonly deliveries: Set<() => void>;
  bytes: number;
}

/**
 * Decides which connection or delivery gives way when there are too many. A connection without a valid request under way is
 * a stranger's (`ConnectionRoom`). A caller's deliveries displace only its own.
 */
export class Crowd {
  readonly #limits: CrowdLimits;
  readonly #room: ConnectionRoom;
  readonly #callers = new Map<string, Caller>();
  #bytes = 0;

  constructor(limits: CrowdLimits, displaced?: (peer: string) => void) {
    const { connections } = limits;
    this.#limits = limits;
    this.#room = new ConnectionRoom({
      limits: { connections, strangers: connections },
      known: 'for its request',
      displaced,
    });
  }

  opened(socket: Socket): void {
    this.#room.opened(socket);
  }

  /** Registers an admitted request of this connection. `giveWay` ends it as one that could not be stored. */
  admitted(socket: Socket, name: string, giveWay: () => void): UnderWay {
    const { body_bytes, deliveries_per_caller } = this.#limits;
    const underWay = this.#room.admitted(socket);
    const caller = this.#callers.get(name) ?? { deliveries: new Set(), bytes: 0 };
    this.#callers.set(name, caller);
    const [oldest] = caller.deliveries;
    if (oldest !== undefined && caller.deliveries.size >= deliveries_per_caller) {
      caller.deliveries.delete(oldest);
      oldest();
    }
    caller.deliveries.add(giveWay);
    let held = 0;
    return {
      takes: (more) => {
        if (this.#bytes + more > body_bytes || caller.bytes + more > body_bytes / 2) return false;
        this.#bytes += more;
        caller.bytes += more;
        held += more;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#bytes -= held;
        caller.bytes -= held;
        held = 0;
        caller.deliveries.delete(giveWay);
        if (caller.deliveries.size === 0 && caller.bytes === 0) this.#callers.delete(name);
        underWay[Symbol.dispose]();
      },
    };
  }
}
