import type { Clock } from '../../clock.ts';
import { hangingJobs, type WatchedJob } from '../../domain/schedule/hang.ts';
import type { Logger } from '../../log.ts';
import { type Message, type SystemdNotify, systemdNotify } from './systemd-notify.ts';

/** A daemon as its supervisor sees it. */
export interface Supervised {
  jobs(): readonly WatchedJob[];
  /** Whether the files cannot be written now. */
  filesStopped(): boolean;
  /** Returns how true the mirror is, in one line. */
  line(): Promise<string>;
}

export interface SupervisionOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Logger;
  /** Returns the daemon that runs; null: one configuration is taking over from another. */
  current(): Supervised | null;
}

/** Tells systemd what the daemon does and how true the mirror is, and feeds its watchdog. */
export interface Supervision {
  /** Tells what a start does that takes long, and asks for so much more time from now on; resolves when it is told. */
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

/** How often the status line is renewed where there is no watchdog. */
const lineEveryMs = 60_000;

const unsupervised: Supervision = {
  starting: async () => undefined,
  say: () => undefined,
  watch: () => ({ [Symbol.dispose]: () => undefined }),
};

/**
 * Returns the supervision that the environment asks for (NOTIFY_SOCKET, WATCHDOG_USEC). The watchdog is fed at half its
 * interval, without a write: a full disk is no hang. It is not fed when a job hangs at two looks in a row; a machine that was
 * suspended is given the time between them.
 */
export function superviseAs({ env, clock, log, current }: SupervisionOptions): Supervision {
  const notify = systemdNotify(env, log);
  if (notify === null) return unsupervised;
  const watchdog_ms = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  let line: string | null = null;
  let hung: readonly string[] = [];

  /** Tells whether the daemon goes on. */
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
    // What is asked of the mirror must not keep the watchdog waiting.
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
