import { spawn } from 'node:child_process';
import type { Logger } from '../../log.ts';

/** What systemd is told, as sd_notify(3) names it. */
export type Message = Readonly<Partial<Record<'READY' | 'RELOADING' | 'STOPPING' | 'WATCHDOG' | 'STATUS', string>>>;

/** Sends systemd a message, through its own program: Node has no datagram sockets. */
export type SystemdNotify = (message: Message) => void;

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
  let running = false;
  let missing = false;

  function next(): void {
    if (waiting === null || missing) return;
    const words = Object.entries(waiting).map(([name, value]) => `${name}=${value}`);
    waiting = null;
    running = true;
    const child = spawn('systemd-notify', words, { env, stdio: 'ignore', timeout: patienceMs });
    child.once('error', (error) => {
      missing = true;
      log.warn({ err: error }, 'systemd-notify cannot be run: systemd is told nothing');
    });
    child.once('close', () => {
      running = false;
      next();
    });
  }

  return (message) => {
    // Of a reload that has ended before it was told, only the end is.
    const { RELOADING: _, READY: __, ...others } = waiting ?? {};
    waiting = 'READY' in message || 'RELOADING' in message ? { ...others, ...message } : { ...waiting, ...message };
    if (!running) next();
  };
}
