import type { InterfaceRoom } from '../admin/listening.ts';
import type { Clock } from '../kernel/clock.ts';
import { number } from '../kernel/format.ts';
import type { Logger } from '../kernel/log.ts';
import { descriptorLimit } from '../kernel/sqlite/descriptors.ts';
import type { Tried } from '../says/conditions/facts.rules.ts';

type InterfaceName = 'admin' | 'storefront' | 'receiver';

/** One interface takes at most this share of the process's descriptors: files and calls of the service need them too. */
const shareOfDescriptors = 1 / 4;
/**
 * The most connections at a time. Storefront workers, followers and people together need fewer; a client that opens
 * more leaks connections.
 */
const connectionsAtMost = 2000;
/** Of these, the share of connections without a key, and the share of event streams. */
const shareOfStrangers = 1 / 10;
const shareOfStreams = 1 / 2;
/** The most event streams. Storefronts have fewer workers, so a client with more leaks connections. */
const streamsAtMost = 500;
/** Milliseconds without another one after which the crowding is over. */
const quietMs = 10 * 60_000;
const peersKept = 1000;

/** Returns the limits of an interface of a process with so many descriptors; null: unknown. */
export function roomFor(descriptors: number | null): InterfaceRoom {
  const connections = Math.min(connectionsAtMost, Math.floor((descriptors ?? Infinity) * shareOfDescriptors));
  return {
    limits: { connections, strangers: Math.ceil(connections * shareOfStrangers) },
    streams: Math.min(streamsAtMost, Math.floor(connections * shareOfStreams)),
  };
}

interface Period {
  readonly since: number;
  last_at: number;
  connections: number;
  streams: number;
  readonly peers: Map<string, number>;
}

/** Remembers connections and streams for which the interfaces had no room. */
export class Crowding {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #room: InterfaceRoom;
  readonly #periods = new Map<InterfaceName, Period>();

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    this.#room = roomFor(descriptorLimit());
  }

  /** Returns the room of an interface. */
  of(name: InterfaceName): Required<InterfaceRoom> {
    const { limits, streams } = this.#room;
    return {
      limits,
      streams,
      displaced: (peer) => {
        const period = this.#period(name);
        period.connections += 1;
        if (period.connections === 1)
          this.#log.warn({ interface: name, peer, ...limits }, 'connections are closed to make room for others');
        const known = period.peers.get(peer) ?? 0;
        if (known > 0 || period.peers.size < peersKept) period.peers.set(peer, known + 1);
      },
      streamRefused: () => {
        const period = this.#period(name);
        period.streams += 1;
        if (period.streams === 1) this.#log.warn({ interface: name, streams }, 'event streams are refused');
      },
    };
  }

  /** Returns since when interfaces have had no room, and for whom; null: they have. */
  now(): Tried['crowded'] {
    const periods = [...this.#periods].filter(([, period]) => this.#isOn(period));
    if (periods.length === 0) return null;
    return {
      since: Math.min(...periods.map(([, { since }]) => since)),
      says: periods.map(([name, period]) => wordsOf(name, period)).join('; '),
    };
  }

  #period(name: InterfaceName): Period {
    const now = this.#clock.now();
    const known = this.#periods.get(name);
    const period =
      known !== undefined && this.#isOn(known)
        ? known
        : { since: now, last_at: now, connections: 0, streams: 0, peers: new Map<string, number>() };
    period.last_at = now;
    this.#periods.set(name, period);
    return period;
  }

  #isOn({ last_at }: Period): boolean {
    return Math.abs(this.#clock.now() - last_at) < quietMs;
  }
}

function wordsOf(name: InterfaceName, { connections, streams, peers }: Period): string {
  const [most] = [...peers].toSorted(([, a], [, b]) => b - a);
  const from = most === undefined || most[0] === '' ? '' : `, ${number(most[1])} of them from ${most[0]}`;
  const said = [
    ...(connections === 0 ? [] : [`closed ${number(connections)} connections to make room${from}`]),
    ...(streams === 0 ? [] : [`refused ${number(streams)} event streams`]),
  ];
  return `the interface ${name} has ${said.join(', and ')}`;
}
