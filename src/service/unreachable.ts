import { connect } from 'node:net';
import type { Clock } from '../kernel/clock.ts';
import { transportError } from './response.ts';

/** Longer than any connection takes that a call would wait for. */
const patienceMs = 5000;

/**
 * Returns why no TCP connection to the host of a URL can be made; null: one can. Sends nothing: the service sees no
 * call.
 */
export async function whyUnreachable(base_url: string, clock: Clock, signal: AbortSignal): Promise<string | null> {
  const { hostname, port, protocol } = new URL(base_url);
  using deadline = clock.deadline(patienceMs, signal);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
  const giveUp = () => resolve('no connection in time');
  socket
    .once('connect', () => resolve(null))
    .once('error', (error) => {
      const { unreachable, code } = transportError(error);
      resolve(unreachable?.message ?? code);
    });
  deadline.signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } finally {
    deadline.signal.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}
