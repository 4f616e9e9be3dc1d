import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { pick, roll } from '../../src/sandbox/random.ts';

/**
 * The network between the daemon and the service, on which nothing is faster by chance: one request or one answer is under
 * way at a time, and of those that wait the seed draws which goes next. All orders are possible, and each of them replays.
 */
export interface Wire extends Disposable {
  /** Sends a request to the service, and hands its answer on. */
  readonly call: Carry;
  /** Sends a delivery to the receiver, and hands its answer on. */
  readonly post: Carry;
  /** Calls whose answer has not come yet, those at which the service takes its time among them. */
  calls(): number;
  /** Whether anything else is under way: a delivery, or what one end of a connection did and the other has not noticed. */
  isBusy(): boolean;
  /** Lets the next one go; false: nothing waits. */
  release(): boolean;
}

/** An aborted `signal` ends every wait: nobody drives the clock of a process that ends. */
type Carry = <Answer>(send: () => Promise<Answer>, signal: AbortSignal) => Promise<Answer>;

/**
 * `lag`: how many turns of the event loop everything takes longer, both ways, which may change nothing. Without a seed
 * the one that has waited longest goes next.
 */
export function openWire(seed: number | null, lag = 0): Wire {
  const waiting = new Map<number, () => void>();
  const underWay = { calls: 0, posts: 0 };
  const ends = openEnds();
  let numbered = 0;
  let released = 0;

  async function turn(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    numbered += 1;
    const number = numbered;
    const go = () => {
      waiting.delete(number);
      resolve();
    };
    waiting.set(number, go);
    signal.addEventListener('abort', go, { once: true });
    await promise;
    signal.removeEventListener('abort', go);
  }

  const carry =
    (what: keyof typeof underWay): Carry =>
    async (send, signal) => {
      await turn(signal);
      underWay[what] += 1;
      await turns(lag);
      const answer = send();
      await Promise.allSettled([answer]);
      await turns(lag);
      underWay[what] -= 1;
      await turn(signal);
      return answer;
    };

  return {
    call: carry('calls'),
    post: carry('posts'),
    calls: () => underWay.calls,
    isBusy: () => underWay.posts > 0 || ends.differ(),
    release: () => {
      if (waiting.size === 0) return false;
      released += 1;
      waiting.get(pick([...waiting.keys()], seed === null ? 0 : roll(seed, released, 'answer')))?.();
      return true;
    },
    [Symbol.dispose]: () => ends[Symbol.dispose](),
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
}

/** Counts both ends of every connection that this process opens to itself. */
function openEnds(): Disposable & { differ(): boolean } {
  const open = { clients: 0, servers: 0 };
  const counted = (end: keyof typeof open) => (message: unknown) => {
    const { socket } = message as { readonly socket: Socket };
    open[end] += 1;
    socket.once('close', () => {
      open[end] -= 1;
    });
  };
  const [client, server] = [counted('clients'), counted('servers')];
  subscribe('net.client.socket', client);
  subscribe('net.server.socket', server);
  return {
    differ: () => open.clients !== open.servers,
    [Symbol.dispose]: () => {
      unsubscribe('net.client.socket', client);
      unsubscribe('net.server.socket', server);
    },
  };
}
