import type { Listening } from '../admin/listening.ts';
import { type AdminOptions, startAdmin } from '../admin/server.ts';
import { startStorefrontDoor } from '../admin/storefront.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { WriteTrouble } from '../domain/files/write-trouble.ts';
import type { CataloguedError } from '../errors.ts';
import type { OpenListener } from '../kept-listener.ts';
import type { Logger } from '../log.ts';
import { statusLine } from '../status/status-line.ts';
import { answersOf } from './answers.ts';
import type { ImageHostOverrides } from './images.ts';
import { jobsOf } from './jobs.ts';
import { unmetIn } from './needs.ts';
import { partsOf } from './parts.ts';
import type { Supervised } from './process/supervision.ts';
import { startPublishing } from './publishing.ts';
import { startReceiving } from './receiving.ts';
import { noReload, type Reload } from './reload.ts';
import { createSchedule, type Schedule } from './schedule.ts';
import { mirrorCounts, statusSource } from './status-source.ts';
import { type Overrides, type Wiring, wire } from './wiring.ts';

/**
 * The running program for one configuration. Disposing drains it: no new calls, running ones aborted, files closed,
 * lock released.
 */
export interface Running extends AsyncDisposable {
  /** The addresses of the admin interface, as a person would type them; `admin.listen` first. */
  readonly admin: readonly string[];
  /** The address of the storefront interface; null: there is none. */
  readonly storefront: string | null;
  /** The address of the receiver; null: no master secret is configured. */
  readonly receiver: string | null;
  /** The part of it that systemd supervises. */
  readonly supervised: Supervised;
  /** Returns the reason why the files cannot be written now; null: they can. */
  writeTrouble(): WriteTrouble | null;
  /** Rejects when the daemon cannot continue because the disk fails. */
  readonly broken: Promise<never>;
  /** Returns the error to report at the end: a file lost or found damaged during the run; null: none. */
  trouble(): CataloguedError | null;
}

/** A running daemon. */
export interface Daemon extends Running {
  readonly wiring: Wiring;
  readonly schedule: Schedule;
  /** Runs the work that is due now. The schedule does so every second. */
  tick(): Promise<void>;
}

export interface DaemonOverrides extends Overrides {
  readonly allowList?: 'check' | 'force';
  readonly imageHost?: ImageHostOverrides;
  /** Further listeners of the admin interface. */
  readonly admin?: readonly Pick<AdminOptions, 'listen' | 'token'>[];
  /** Opens listeners that outlive the daemon. */
  readonly kept?: OpenListener;
  /** Reads the configuration again; absent: it cannot be reloaded. */
  readonly reload?: Reload;
}

/** Starts everything: the files first, then the receiver and the admin interface, then the schedule. */
export async function startDaemon(loaded: LoadedConfig, log: Logger, overrides: DaemonOverrides = {}): Promise<Daemon> {
  await using stack = new AsyncDisposableStack();
  const wiring = stack.use(await wire(loaded, log, overrides));
  const { clock } = wiring.ports;
  const { kept, reload = noReload } = overrides;
  const stopping = new AbortController();
  const { signal } = stopping;
  // The stack disposes in reverse order: waiting checks are answered before the admin interface closes.
  const late = new AsyncDisposableStack();
  const own = partsOf(wiring, { log, signal, imageHost: overrides.imageHost });
  late.use(own.checks);
  late.use(own.images);
  stack.defer(() => late.disposeAsync());
  const { guard } = own;
  // Started before the rest, so that it ends after it: the daemon's last changes are published too.
  const publishing = await startPublishing(wiring, loaded.secrets.database_url, log);
  if (publishing !== null) stack.use(publishing);
  const receiving = await startReceiving(wiring, loaded.secrets.receiver_secret, {
    clock,
    log,
    signal,
    rule: overrides.allowList ?? 'check',
    applied: (counts) => {
      if (counts.applied + counts.superseded + counts.quarantined > 0) log.info({ ...counts }, 'deliveries applied');
    },
    broken: guard.failed('inbox'),
    kept,
  });
  if (receiving !== null) stack.use(receiving);
  const counts = stack.use(mirrorCounts(wiring));
  const status = statusSource({ ...own, receiving }, { jobs: () => schedule.list(), counts, publishing });
  const parts = { ...own, receiving, status };
  const schedule: Schedule = createSchedule(jobsOf(parts), {
    clock,
    signal,
    unmet: unmetIn(wiring),
    writing: wiring.storage.keepTrying,
    failed: guard.failed('mirror'),
  });
  const { answers } = stack.use(answersOf(parts, { loaded, schedule, reload, publishing }));
  const listens = [
    { listen: loaded.config.admin.listen, token: loaded.secrets.admin_token },
    ...(overrides.admin ?? []),
  ];
  const admins: Listening[] = [];
  for (const each of listens) admins.push(stack.use(await startAdmin({ ...answers, ...each, kept })));
  const { listen, ...rest } = loaded.config.storefront;
  const rules = { ...rest, token: loaded.secrets.storefront_token };
  const door = listen === null ? null : stack.use(await startStorefrontDoor({ ...answers, listen, rules, kept }));
  stack.defer(() => late.disposeAsync());
  wiring.storage.serve();
  stack.use(schedule.start());
  stack.defer(() => stopping.abort(new Error('the daemon is stopping')));
  const closing = stack.move();
  return {
    wiring,
    schedule,
    admin: admins.map(({ address }) => address),
    storefront: door?.address ?? null,
    receiver: receiving?.receiver.address ?? null,
    supervised: {
      jobs: schedule.watched,
      filesStopped: () => wiring.storage.status().trouble !== null,
      line: async () => statusLine(await status.shown(), clock.now()),
    },
    writeTrouble: () => wiring.storage.status().trouble?.kind ?? null,
    tick: async () => void (await schedule.run('pass')),
    broken: guard.broken,
    trouble: wiring.files.trouble,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
