import { spawn } from 'node:child_process';
import type { Logger } from '../../log.ts';

/** What systemd is told, as sd_notify(3) names it. */
export type Message = Readonly<
  Partial<Record<'READY' | 'RELOADING' | 'STOPPING' | 'WATCHDOG' | 'STATUS' | 'EXTEND_TIMEOUT_USEC', string>>
>;

/**
 * Sends systemd a message, through its own program: Node has no datagram sockets. Resolves when it was sent, or cannot be.
 */
export type SystemdNotify = (message: Message) => Promise<void>;

type Env = Readonly<Record<string, string | undefined>>;

/** systemd waits no longer for a message either. */
const patienceMs = 10_000;

/**
 * Returns null where nobody listens (no NOTIFY_SOCKET): then nothing is ever started. One message is sent at a time; those
 * that come meanwhile become one.
 */
export function systemdNotify(env: Env, log: Logger): SystemdNotify | null {
  if ((env.NOTIFY_SOCKET ?? '') === '') return null;
  let waiting: Message | null = null;
  let sending: Promise<void> | null = null;
  let missing = false;

  async function send(): Promise<void> {
    while (waiting !== null && !missing) {
      const words = Object.entries(waiting).map(([name, value]) => `${name}=${value}`);
      waiting = null;
      const { promise, resolve } = Promise.withResolvers<void>();
      const child = spawn('systemd-notify', words, { env, stdio: 'ignore', timeout: patienceMs });
      child.once('error', (error) => {
        missing = true;
        log.warn({ err: error }, 'systemd-notify cannot be run: systemd is told nothing');
        resolve();
      });
      child.once('close', () => resolve());
      await promise;
    }
    sending = null;
  }

  return (message) => {
    // Of a reload that has ended before it was told, only the end is.
    const { RELOADING: _, READY: __, ...others } = waiting ?? {};
    waiting = 'READY' in message || 'RELOADING' in message ? { ...others, ...message } : { ...waiting, ...message };
    sending ??= send();
    return sending;
  };
}
