import { spawn } from 'node:child_process';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/log.ts';
import { hangingJobs, type WatchedJob } from '../hang.rules.ts';

/** A message to systemd, in the terms of sd_notify(3). */
type Message = Readonly<
  Partial<Record<'READY' | 'RELOADING' | 'STOPPING' | 'WATCHDOG' | 'STATUS' | 'EXTEND_TIMEOUT_USEC', string>>
>;

/**
 * Sends systemd a message through systemd's own program, because Node has no datagram sockets. Resolves when it was
 * sent, or cannot be sent.
 */
type SystemdNotify = (message: Message) => Promise<void>;

type Env = Readonly<Record<string, string | undefined>>;

/** Milliseconds after which a message is given up; systemd waits no longer either. */
const patienceMs = 10_000;

/**
 * Returns null without NOTIFY_SOCKET: then no program is ever started. One message is sent at a time, and messages that
 * come meanwhile are merged into one.
 */
function systemdNotify(env: Env, log: Logger): SystemdNotify | null {
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

/** The view that a supervisor has of a daemon. */
export interface Supervised {
  jobs(): readonly WatchedJob[];
  /** Returns whether the files cannot be written now. */
  filesStopped(): boolean;
  /** Returns the state of the mirror, in one line. */
  line(): Promise<string>;
}

export interface SupervisionOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the running daemon; null: a reload is under way. */
  current(): Supervised | null;
}

/** Reports the daemon's work and the state of the mirror to systemd, and feeds its watchdog. */
export interface Supervision {
  /**
   * Reports a step of the start that takes long, and asks for that much more time from now on. Resolves when it is
   * reported.
   */
  starting(status: string, more_ms: number): Promise<void>;
  say(state: 'ready' | 'reloading' | 'stopping'): void;
  /** Feeds the watchdog until it is disposed of. */
  watch(): Disposable;
}

const words = {
  ready: { READY: '1' },
  reloading: { RELOADING: '1', STATUS: 'another configuration takes over' },
  stopping: { STOPPING: '1', STATUS: 'stopping' },
} as const satisfies Record<string, Message>;

/** Milliseconds between two updates of the status line if there is no watchdog. */
const lineEveryMs = 60_000;

const unsupervised: Supervision = {
  starting: async () => undefined,
  say: () => undefined,
  watch: () => ({ [Symbol.dispose]: () => undefined }),
};

/**
 * Returns the supervision that the environment asks for (NOTIFY_SOCKET, WATCHDOG_USEC). The watchdog is fed at half its
 * interval. Feeding it needs no write, so a full disk does not count as a hang. It is not fed if a job hangs at two
 * inspections in a row, so that a machine that was suspended has the time in between to catch up.
 */
export function superviseAs({ env, clock, log, current }: SupervisionOptions): Supervision {
  const notify = systemdNotify(env, log);
  if (notify === null) return unsupervised;
  const watchdog_ms = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  let line: string | null = null;
  let hung: readonly string[] = [];

  /** Returns whether the daemon makes progress. */
  function look(daemon: Supervised | null): boolean {
    const hanging = daemon === null ? ['reload'] : hangingJobs(daemon.jobs(), { filesStopped: daemon.filesStopped() });
    const again = hanging.filter((name) => hung.includes(name));
    hung = hanging;
    if (again.length > 0) log.error({ jobs: again }, 'jobs hang: the watchdog is not fed');
    return again.length === 0;
  }

  function beat(tell: SystemdNotify): void {
    const daemon = current();
    if (look(daemon) && watchdog_ms > 0) void tell({ WATCHDOG: '1' });
    // Not awaited: queries on the mirror must not delay the watchdog.
    daemon?.line().then(
      (said) => {
        if (said !== line && daemon === current()) void tell({ STATUS: said });
        line = said;
      },
      (error: unknown) => log.debug({ err: error }, 'no status line for systemd'),
    );
  }

  return {
    starting: (status, more_ms) => notify({ STATUS: status, EXTEND_TIMEOUT_USEC: String(more_ms * 1000) }),
    say: (state) => {
      line = null;
      void notify(words[state]);
    },
    watch: () => {
      const ended = new AbortController();
      const work = async () => {
        while (!ended.signal.aborted) {
          beat(notify);
          await clock.sleep(watchdog_ms > 0 ? watchdog_ms / 2 : lineEveryMs, ended.signal).catch(() => undefined);
        }
      };
      void work();
      return { [Symbol.dispose]: () => ended.abort() };
    },
  };
}
