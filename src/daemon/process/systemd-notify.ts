import { spawn } from 'node:child_process';
import type { Logger } from '../../log.ts';

/** A message to systemd, in the terms of sd_notify(3). */
export type Message = Readonly<
  Partial<Record<'READY' | 'RELOADING' | 'STOPPING' | 'WATCHDOG' | 'STATUS' | 'EXTEND_TIMEOUT_USEC', string>>
>;

/**
 * Sends systemd a message through systemd's own program, because Node has no datagram sockets. Resolves when it was
 * sent, or cannot be sent.
 */
export type SystemdNotify = (message: Message) => Promise<void>;

type Env = Readonly<Record<string, string | undefined>>;

/** Milliseconds after which a message is given up; systemd waits no longer either. */
const patienceMs = 10_000;

/**
 * Returns null without NOTIFY_SOCKET: then no program is ever started. One message is sent at a time, and messages that
 * come meanwhile are merged into one.
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
    // If a reload ends before it was reported, only its end is reported.
    const { RELOADING: _, READY: __, ...others } = waiting ?? {};
    waiting = 'READY' in message || 'RELOADING' in message ? { ...others, ...message } : { ...waiting, ...message };
    sending ??= send();
    return sending;
  };
}
