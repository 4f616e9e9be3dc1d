import type { AdminOptions } from '../admin/server.ts';
import { startAdmin } from '../admin/server.ts';
import { startStorefrontDoor } from '../admin/storefront.ts';
import { imageDirectory } from '../catalogue/image-directory.ts';
import { ImageFiles, imageRoom } from '../catalogue/image-files.ask.ts';
import type { LoadedConfig } from '../config/load.ts';
import { auditsOf } from '../cycle/audits.ts';
import { CheckDesk } from '../desk/check.ts';
import { watchChecks } from '../desk/flood.ts';
import { keepBackups } from '../files/backup/keep.ts';
import { keepSnapshots } from '../files/snapshot/snapshot.ts';
import type { WriteTrouble } from '../files/write-trouble.rules.ts';
import type { CataloguedError } from '../kernel/errors.ts';
import { counted } from '../kernel/format.ts';
import { version } from '../package.ts';
import { failingOf, type OperationKind } from '../says/conditions/outcome.rules.ts';
import { whyWaiting } from '../says/status/daemon-status.ts';
import { Attempts } from '../says/status/outcomes.store.ts';
import { statusLine } from '../says/status/verdict.ts';
import { createImageHost } from '../service/image-host.ts';
import { answersOf, noReload, type Reload } from './answers.ts';
import { DoubtedService } from './conditions/doubts.ts';
import { ConditionWatch } from './conditions/watch.ts';
import type { Daemon } from './context.ts';
import { FileFailures } from './files.ts';
import { fruitlessSearches } from './fruitless.ts';
import { jobsOf } from './jobs.ts';
import type { Machine } from './machine.ts';
import { type Mirroring, openMirroring } from './mirroring.ts';
import { unmetIn } from './needs.ts';
import type { Supervised } from './process/supervision.ts';
import { startPublishing } from './publishing.ts';
import { startReceiving } from './receiving.ts';
import { createSchedule, type Job } from './schedule.ts';
import type { Sharing } from './sharing/sharing.ts';
import { type MirrorCounts, mirrorCounts, statusSource } from './status-source.ts';

const imageDeadlineMs = 120_000;
/** Larger than any image made for a page: a limit for a mistaken or hostile host. */
const mostImageBytes = 20 * 1024 ** 2;

/** Connects the client of the image host. It has no access to the service's key, limiter or budget. */
function keepImageFiles(stack: AsyncDisposableStack, { machine, config, sync }: Mirroring): ImageFiles {
  const { files, directory, sizes, hosts, disk } = config.images;
  const { addresses, requests_per_second, at_once } = machine.network.imageHost;
  const host = stack.use(
    createImageHost({
      reach: { hosts, addresses },
      user_agent: `catalogued/${version}`,
      max_bytes: mostImageBytes,
      deadline_ms: imageDeadlineMs,
      requests_per_second,
      concurrency: 4,
      clock: sync.clock,
    }),
  );
  return new ImageFiles(
    sync,
    imageDirectory(directory, sync.entropy),
    files ? { sizes, disk, host, room: imageRoom(sync.mirror, disk), at_once } : null,
  );
}

/** A running daemon or instance. Disposing drains it: no new calls, running ones aborted, files closed, locks released. */
export interface Running extends AsyncDisposable {
  /** The addresses of the admin interface, as a person would type them; `admin.listen` first. */
  readonly admin: readonly string[];
  /** The address of the storefront interface; null: there is none. */
  readonly storefront: string | null;
  /** The address of the receiver; null: no master secret is configured. */
  readonly receiver: string | null;
  /** The part of it that systemd supervises. */
  readonly supervised: Supervised;
  /** Returns the progress of the first fill; null where it is not known: this instance does not lead, or has lost its mirror. */
  fill(): Promise<FirstFill | 'filled' | null>;
  /** Returns the reason why the files cannot be written now; null: they can. */
  writeTrouble(): WriteTrouble | null;
  /** Rejects when the daemon cannot continue because the disk fails. */
  readonly broken: Promise<never>;
  /** Returns the error to report at the end: a file lost or found damaged during the run; null: none. */
  trouble(): CataloguedError | null;
}

/** Progress of a first fill. */
export interface FirstFill {
  readonly done: number;
  readonly total: number;
  readonly calls: number;
  /** Reason why it waits, or how many products are mirrored. */
  readonly note: string;
}

export interface RunningDaemon extends Daemon, Running {
  /** Runs the work that is due now. The schedule does so every second. */
  tick(): Promise<void>;
}

export interface StartOptions {
  /** The resources that the leader of several instances shares. Absent: this is the only instance. */
  readonly sharing?: Sharing;
  /** Further listeners of the admin interface. */
  readonly admin?: readonly Pick<AdminOptions, 'listen' | 'token'>[];
  /** Reads the configuration again; absent: it cannot be reloaded. */
  readonly reload?: Reload;
}

/** Starts everything: the files first, then the receiver and the admin interface, then the schedule. */
export async function startDaemon(
  machine: Machine,
  loaded: LoadedConfig,
  { sharing, admin = [], reload = noReload }: StartOptions = {},
): Promise<RunningDaemon> {
  await using stack = new AsyncDisposableStack();
  const { config, secrets } = loaded;
  const kept = machine.network.listen;
  const stopping = new AbortController();
  const mirroring = stack.use(await openMirroring(machine, loaded, sharing));
  const counts = stack.use(mirrorCounts(mirroring));
  const daemon = await assemble(stack, mirroring, loaded, { stopping: stopping.signal, counts });
  const { schedule, writer, files, clock, crowding } = daemon;
  const { answers } = stack.use(answersOf(daemon, loaded, reload));
  const addresses: string[] = [];
  for (const each of [{ listen: config.admin.listen, token: secrets.admin_token }, ...admin])
    addresses.push(stack.use(await startAdmin({ ...answers, ...each, kept, room: crowding.of('admin') })).address);
  const { listen, public_key, origins } = config.storefront;
  const rules = { public_key, origins, token: secrets.storefront_token };
  const room = crowding.of('storefront');
  const storefront =
    listen === null ? null : stack.use(await startStorefrontDoor({ ...answers, listen, rules, kept, room }));
  // The stack disposes in reverse order: waiting checks are answered before the interfaces close.
  stack.defer(() => daemon.checks[Symbol.asyncDispose]());
  writer.serve();
  stack.use(schedule.start());
  stack.defer(() => stopping.abort(new Error('the daemon is stopping')));
  const closing = stack.move();
  return {
    ...daemon,
    admin: addresses,
    storefront: storefront?.address ?? null,
    receiver: daemon.receiving?.receiver.address ?? null,
    supervised: {
      jobs: schedule.watched,
      filesStopped: () => writer.status().trouble !== null,
      line: async () => statusLine(await daemon.status.shown(), clock.now()),
    },
    fill: () => fillOf(daemon),
    writeTrouble: () => writer.status().trouble?.kind ?? null,
    tick: async () => void (await schedule.run('pass')),
    broken: daemon.failures.broken,
    trouble: files.trouble,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Reads the status, which a thread counts: records are too many to be counted between two calls. */
async function fillOf({ mirror, files, status, clock }: Daemon): Promise<FirstFill | 'filled' | null> {
  if (!files.isWell('mirror')) return null;
  if (mirror.filledAt() !== null) return 'filled';
  const { records, products, daemon } = await status.shown();
  const waiting = whyWaiting(daemon, mirror.schedule.records.nextDueAt(null), clock.now());
  const note = waiting ?? counted(products.visible, 'product');
  return { done: records.all - records.never_fetched, total: records.all, calls: daemon.calls, note };
}

export interface AssemblyOptions {
  readonly stopping: AbortSignal;
  readonly counts: MirrorCounts;
  /** Makes the list of jobs. A test may change it. */
  readonly jobs?: (daemon: Daemon) => readonly Job[];
}

/** Adds to a mirroring all parts of a daemon but its interfaces. They end with the stack. Nobody ticks the schedule yet. */
export async function assemble(
  stack: AsyncDisposableStack,
  mirroring: Mirroring,
  { secrets }: LoadedConfig,
  { stopping, counts, jobs = jobsOf }: AssemblyOptions,
): Promise<Daemon> {
  const { config, mirror, inbox, sync, limiter, files, writer } = mirroring;
  const { clock, log } = sync;
  const failures = new FileFailures(files, writer, sync);
  // Started before the rest, so that it ends after it: the daemon's last changes are published too.
  const publishing = await startPublishing(mirroring, secrets.database_url);
  stack.use(publishing);
  const checks = stack.use(new CheckDesk(mirroring));
  const images = keepImageFiles(stack, mirroring);
  const receiving = await startReceiving(mirroring, secrets.receiver_secret, { stopping, failures });
  stack.use(receiving);
  const parts = {
    ...mirroring,
    stopping,
    failures,
    doubts: new DoubtedService(mirroring),
    snapshots: keepSnapshots({ mirror, clock, log, attempts: attemptsOf(mirroring, 'snapshot') }, config.snapshot),
    backups: keepBackups(
      {
        mirror,
        inbox,
        clock,
        log,
        attempts: attemptsOf(mirroring, 'backup'),
        drills: attemptsOf(mirroring, 'restore-drill'),
      },
      config.backup,
    ),
    checks,
    images,
    audits: auditsOf(sync),
    fruitless: fruitlessSearches(inbox, clock),
    floods: watchChecks(sync, () => limiter.state()),
    conditions: new ConditionWatch(mirroring),
    publishing,
    receiving,
    schedule: createSchedule({
      clock,
      signal: stopping,
      writing: (work, signal) => writer.until(signal, work),
      failed: (error) => failures.note('mirror', error),
    }),
  };
  const daemon: Daemon = { ...parts, status: statusSource(parts, counts) };
  daemon.schedule.add(jobs(daemon), unmetIn(daemon));
  // What has broken by now refuses the start: waiting deliveries could not be applied on a full disk, for example.
  await Promise.race([failures.broken, null]);
  return daemon;
}

/** Returns the attempts of an operation, which continue from what an earlier process stored. */
function attemptsOf({ mirror, files, writer }: Mirroring, operation: OperationKind): Attempts {
  const { outcomes } = mirror.status;
  return new Attempts(failingOf(outcomes.all(), operation), (at, failure) => {
    if (!files.isWell('mirror')) return;
    writer.soon(operation, () =>
      mirror.transaction(() =>
        failure === null ? outcomes.worked(operation, at) : outcomes.failed(operation, { at, ...failure }),
      ),
    );
  });
}
