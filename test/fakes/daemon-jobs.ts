import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import type { Operation } from '../../src/admin/api/operation.ts';
import { type Answer, type Answers, operations } from '../../src/admin/api.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { answersOf, noReload } from '../../src/daemon/answers.ts';
import type { Daemon } from '../../src/daemon/context.ts';
import { assemble } from '../../src/daemon/daemon.ts';
import { jobsOf } from '../../src/daemon/jobs.ts';
import type { Machine } from '../../src/daemon/machine.ts';
import { type Mirroring, openMirroring } from '../../src/daemon/mirroring.ts';
import type { Job } from '../../src/daemon/schedule.ts';
import type { Instant } from '../../src/kernel/clock.ts';
import { type MirrorStatus, StatusReads } from '../../src/says/status/status.store.ts';
import { openMirrorWithClock } from './mirror-at.ts';
import { emptyMirror } from './test-mirror.ts';

/** The parts of a request that an operation of the admin interface needs; strings and defaults as over HTTP. */
export interface Request {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Asks an operation of the admin interface, in this process. Rejects where HTTP would answer with an error. */
export type Ask = <Name extends keyof Answers>(name: Name, request?: Request) => Promise<Answer<Name>>;

/** The same of an operation that answers at once. */
export type AskNow = <Name extends keyof Answers>(name: Name, request?: Request) => Answer<Name>;

export type Rows = <Row = Record<string, unknown>>(sql: string, ...values: readonly unknown[]) => Row[];

/** Everything of a daemon but its interfaces and the loops that tick. */
export interface DaemonJobs extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly ask: Ask;
  readonly askNow: AskNow;
  /** Returns the part of the status that comes from the mirror. */
  status(): MirrorStatus;
  /** Returns the rows of the published views, as a shop reads them at the instant of the daemon's clock. */
  readonly rows: Rows;
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

/** Changes that a test makes to a daemon, beside those of its machine. */
export interface JobsOptions {
  /** Changes the opened parts before the jobs are made of them. */
  readonly spoilt?: (mirroring: Mirroring) => void;
  /** Changes the daemon's list of jobs. */
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

/** Assembles a daemon for a test that ticks its jobs. No file is gone through in a process of its own. */
export async function startJobs(
  machine: Machine,
  loaded: LoadedConfig,
  { spoilt, mutated = (jobs) => jobs, between, conditions = false, makesTables = false }: JobsOptions = {},
): Promise<DaemonJobs> {
  await using stack = new AsyncDisposableStack();
  const { path, inbox_path } = loaded.config.mirror;
  // A first start, and not one beside an inbox that has lost its mirror.
  if (!makesTables && !existsSync(path) && !existsSync(inbox_path)) emptyMirror.write(path);
  const quick = { ...machine, disk: { checkFile: async () => null, ...machine.disk } };
  const mirroring = stack.use(await openMirroring(quick, loaded));
  spoilt?.(mirroring);
  const outside = outsideOf(mirroring);
  let reader: ReturnType<typeof openMirrorWithClock> | null = null;
  let status: { read(now: Instant): MirrorStatus } | null = null;
  stack.defer(() => void reader?.db.close());
  /** Connects when somebody looks for the first time, and sets the clock of the views. */
  const shownAt = (now: Instant) => {
    reader ??= openMirrorWithClock(path);
    reader.set(now);
    return reader.db;
  };
  const rows: Rows = <Row>(sql: string, ...values: readonly unknown[]) =>
    shownAt(mirroring.clock.now())
      .prepare<unknown[], Row>(sql)
      .all(...values);
  const statusNow = () => {
    const as_of = mirroring.clock.now();
    const db = shownAt(as_of);
    status ??= new StatusReads(db);
    return { ...status.read(as_of), as_of };
  };
  const count = async () => statusNow();
  const stopping = new AbortController();
  const watched = (job: Job): Job => ({
    ...job,
    run: async (signal) => {
      between?.();
      await job.run(signal).finally(between);
    },
  });
  const daemon = await assemble(stack, mirroring, loaded, {
    stopping: stopping.signal,
    counts: { read: count, count },
    jobs: (own) =>
      mutated(jobsOf(own).filter(({ name }) => conditions || !conditionJobs.has(name)))
        .map((job) => (between === undefined ? job : watched(job)))
        .map((job) => (outsideJobs.has(job.name) ? outside.noted(job) : job)),
  });
  const { schedule } = daemon;
  let answers: Answers | null = null;
  const answer = (name: keyof Answers, request: Request = {}): unknown => {
    if (answers === null) {
      const answering = closing.use(answersOf(daemon, loaded, noReload));
      ({ answers } = answering.answers);
    }
    return askIn(answers, name, request, stopping.signal);
  };
  // Safe casts: the operation of that name has answered.
  const ask: Ask = async (name, request) => existing(name, await answer(name, request)) as never;
  const askNow: AskNow = (name, request) => {
    const found = existing(name, answer(name, request));
    if (found instanceof Promise) throw new Error(`${name} takes its time`);
    return found as never;
  };
  const running = new Set<Promise<unknown>>();
  // Remembered, and not raced with each run: a promise that never settles keeps everything that was raced with it.
  let failure: { readonly error: unknown } | null = null;
  daemon.failures.broken.catch((error: unknown) => {
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
    daemon,
    ask,
    askNow,
    rows,
    status: statusNow,
    run: (name) => unlessBroken(schedule.run(name)),
    runDue: () => unlessBroken(schedule.runDue()),
    isOutside: outside.isAny,
    // A job that runs on is due again once it ends, which may be at any time.
    idleFor: () => (running.size > 0 ? 0 : schedule.wakeAt() - daemon.clock.now()),
    stop,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Reads a request as the routes do, and answers it. */
function askIn<Name extends keyof Answers>(answers: Answers, name: Name, request: Request, signal: AbortSignal) {
  const operation: Operation = operations[name];
  const read = (part: 'path' | 'query' | 'body') => operation[part]?.parse(request[part] ?? {});
  const asked = { path: read('path'), query: read('query'), body: read('body') };
  // Safe cast: the operation of that name has read the request.
  return answers[name](asked as never, signal);
}

function existing(name: string, found: unknown): unknown {
  if (found === null) throw new Error(`${name} finds nothing`);
  return found;
}

/**
 * Counts the jobs that wait for something outside. What waits until the files can be written does not: it goes on when the
 * clock does.
 */
function outsideOf({ writer }: Mirroring): { noted(job: Job): Job; isAny(): boolean } {
  const until = writer.until.bind(writer);
  const ofOutsideJob = new AsyncLocalStorage<true>();
  let outside = 0;
  const counted = async <Result>(by: 1 | -1, work: () => Promise<Result>): Promise<Result> => {
    outside += by;
    return work().finally(() => {
      outside -= by;
    });
  };
  Object.assign(writer, {
    until: <Result>(signal: AbortSignal, work: () => Promise<Result>) =>
      ofOutsideJob.getStore() === undefined
        ? until(signal, work)
        : counted(-1, () => until(signal, () => counted(1, work))),
  });
  return {
    noted: (job) => ({ ...job, run: (end) => ofOutsideJob.run(true, () => counted(1, () => job.run(end))) }),
    isAny: () => outside > 0,
  };
}
