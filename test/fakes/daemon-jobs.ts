import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../../src/config/load.ts';
import type { ImageHostOverrides } from '../../src/daemon/images.ts';
import { jobsOf } from '../../src/daemon/jobs.ts';
import { unmetIn } from '../../src/daemon/needs.ts';
import { type Parts, partsOf } from '../../src/daemon/parts.ts';
import { startReceiving } from '../../src/daemon/receiving.ts';
import { createSchedule, type Job, type Schedule } from '../../src/daemon/schedule.ts';
import { statusSource } from '../../src/daemon/status-source.ts';
import { type Overrides, type Wiring, wire } from '../../src/daemon/wiring.ts';
import { quarantineAfter } from '../../src/domain/budget/backoff.ts';
import type { Logger } from '../../src/log.ts';
import { type MirrorStatus, statusOf } from '../../src/mirror/status/status.ts';
import { openMirrorWithClock } from './mirror-at.ts';
import { emptyMirror } from './test-mirror.ts';

/** Everything of a daemon but its admin interface and the loops that tick. */
export interface DaemonJobs extends AsyncDisposable {
  readonly wiring: Wiring;
  readonly parts: Parts;
  readonly schedule: Schedule;
  /** Runs a job now. Rejects, as `runDue` does, with what would end a daemon. */
  run(name: string): Promise<void>;
  /** Runs every job whose tick has come. */
  runDue(): Promise<void>;
  /** Whether a job waits for the disk, another process or the image host: no clock ends that. */
  isOutside(): boolean;
  /** Milliseconds until the next tick at which a job has work. */
  idleFor(): number;
  /** Tells every job to end. */
  stop(): void;
}

/** What a test replaces: of a wiring, and how fast its image host is asked. */
export interface DaemonOverrides extends Omit<Overrides, 'imageHost'> {
  readonly imageHost?: ImageHostOverrides;
  /** Replaces parts of the wiring before the jobs are made of it. */
  readonly rewired?: (wiring: Wiring, stack: AsyncDisposableStack) => Wiring;
  /** What is done to the daemon's list. */
  readonly mutated?: (jobs: readonly Job[]) => readonly Job[];
  /** Called between two jobs. */
  readonly between?: () => void;
  /** Whether conditions are looked at: each look counts every record, 43,200 times a virtual month. */
  readonly conditions?: boolean;
  /** The daemon makes the tables of a new mirror itself, instead of finding a copy of an empty one. */
  readonly makesTables?: boolean;
}

/** An image host of a test is asked as fast as it goes, or time has to pass by itself. */
const outsideJobs: ReadonlySet<string> = new Set([
  'conditions',
  'outage',
  'snapshot',
  'backup',
  'restore-drill',
  'image-files',
  'image-sweep',
  'start-check',
  'integrity',
]);

/** Each look counts every record, or connects to the service in the machine's time. */
const conditionJobs: ReadonlySet<string> = new Set(['conditions', 'outage']);

/** Wires the jobs of a daemon for whoever ticks them. No file is gone through in a process of its own. */
export async function startJobs(
  loaded: LoadedConfig,
  log: Logger,
  {
    imageHost,
    rewired = (wiring) => wiring,
    mutated = (jobs) => jobs,
    between,
    conditions = false,
    makesTables = false,
    ...overrides
  }: DaemonOverrides,
): Promise<DaemonJobs> {
  await using stack = new AsyncDisposableStack();
  const { path, inbox_path } = loaded.config.mirror;
  // A first start, and not one beside an inbox that has lost its mirror.
  if (!makesTables && !existsSync(path) && !existsSync(inbox_path)) emptyMirror.write(path);
  const given = imageHost === undefined ? {} : { imageHost };
  const wired = stack.use(await wire(loaded, log, { checkFile: async () => null, ...overrides, ...given }));
  const wiring = rewired(wired, stack);
  const { clock } = wiring.ports;
  const outside = outsideOf(wiring);
  const stopping = new AbortController();
  const { signal } = stopping;
  const own = partsOf(wiring, { log, signal, imageHost });
  stack.use(own.checks);
  stack.use(own.images);
  const { broken, failed } = own.guard;
  const receiving = await startReceiving(wiring, loaded.secrets.receiver_secret, {
    clock,
    log,
    signal,
    rule: 'check',
    applied: () => {},
    broken: failed('inbox'),
  });
  if (receiving !== null) stack.use(receiving);
  let shown: { readonly reader: ReturnType<typeof openMirrorWithClock>; readonly read: () => MirrorStatus } | null =
    null;
  stack.defer(() => void shown?.reader.db.close());
  const openShown = () => {
    const reader = openMirrorWithClock(wiring.mirror.path);
    return { reader, read: statusOf(reader.db, quarantineAfter) };
  };
  const count = async () => {
    shown ??= openShown();
    shown.reader.set(clock.now());
    return { ...shown.read(), as_of: clock.now() };
  };
  const status = statusSource({ ...own, receiving }, { jobs: () => schedule.list(), counts: { read: count, count } });
  const parts = { ...own, receiving, status };
  const jobs = mutated(jobsOf(parts).filter(({ name }) => conditions || !conditionJobs.has(name))).map((job) =>
    outsideJobs.has(job.name) ? outside.noted(job) : job,
  );
  const monotonic = () => {
    between?.();
    return clock.monotonic();
  };
  const schedule: Schedule = createSchedule(jobs, {
    clock: { ...clock, monotonic },
    signal,
    unmet: unmetIn(wiring),
    writing: (work, until) => wiring.storage.keepTrying(work, until),
    failed: failed('mirror'),
  });
  const running = new Set<Promise<unknown>>();
  // Remembered, and not raced with each run: a promise that never settles keeps everything that was raced with it.
  let failure: { readonly error: unknown } | null = null;
  broken.catch((error: unknown) => {
    failure = { error };
  });
  const unlessBroken = async (work: Promise<unknown>) => {
    running.add(work);
    await work.finally(() => running.delete(work));
    if (failure !== null) throw failure.error;
  };
  const stop = () => stopping.abort(new Error('the daemon is stopping'));
  stack.defer(async () => {
    stop();
    await Promise.all(running);
  });
  const closing = stack.move();
  return {
    wiring,
    parts,
    schedule,
    run: (name) => unlessBroken(schedule.run(name)),
    runDue: () => unlessBroken(schedule.runDue()),
    isOutside: outside.isAny,
    // A job that runs on is due again once it ends, which may be at any time.
    idleFor: () => (running.size > 0 ? 0 : schedule.wakeAt() - clock.now()),
    stop,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/**
 * Counts the jobs that wait for something outside. What waits until the files can be written does not: it goes on when the
 * clock does.
 */
function outsideOf({ storage }: Wiring): { noted(job: Job): Job; isAny(): boolean } {
  const { keepTrying } = storage;
  const ofOutsideJob = new AsyncLocalStorage<true>();
  let outside = 0;
  const counted = async <Result>(by: 1 | -1, work: () => Promise<Result>): Promise<Result> => {
    outside += by;
    return work().finally(() => {
      outside -= by;
    });
  };
  Object.assign(storage, {
    keepTrying: <Result>(work: () => Promise<Result>, signal: AbortSignal) =>
      ofOutsideJob.getStore() === undefined
        ? keepTrying(work, signal)
        : counted(-1, () => keepTrying(() => counted(1, work), signal)),
  });
  return {
    noted: (job) => ({ ...job, run: (until) => ofOutsideJob.run(true, () => counted(1, () => job.run(until))) }),
    isAny: () => outside > 0,
  };
}
