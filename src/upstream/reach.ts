import { connect } from 'node:net';
import type { Clock } from '../clock.ts';

/** Longer than any connection takes that a call would wait for. */
const patienceMs = 5000;

/** Tells whether a TCP connection to the host of a URL can be made. Sends nothing: the service sees no call. */
export async function isReachable(
  base_url: string,
  clock: Pick<Clock, 'deadline'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { hostname, port, protocol } = new URL(base_url);
  using deadline = clock.deadline(patienceMs, signal);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const host = hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(port) || (protocol === 'https:' ? 443 : 80) });
  const giveUp = () => resolve(false);
  socket.once('connect', () => resolve(true)).once('error', giveUp);
  deadline.signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await promise;
  } finally {
    deadline.signal.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}
