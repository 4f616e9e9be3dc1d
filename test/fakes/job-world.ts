import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type Clock, systemClock } from '../../src/clock.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { keepImageFiles } from '../../src/daemon/images.ts';
import { jobsOf } from '../../src/daemon/jobs.ts';
import { type Parts, partsOf } from '../../src/daemon/parts.ts';
import { startReceiving } from '../../src/daemon/receiving.ts';
import { createSchedule, type Job, type Schedule } from '../../src/daemon/schedule.ts';
import { wire } from '../../src/daemon/wiring.ts';
import { createStorage } from '../../src/files/storage.ts';
import { watchFiles } from '../../src/files/watch.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import { roll } from '../../src/sandbox/random.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { type VirtualClock, virtualClock } from '../../src/sandbox/virtual-clock.ts';
import { pass } from '../../src/sync/engine.ts';
import { canary } from './canary.ts';
import { freePort } from './free-port.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testLog } from './test-log.ts';
import { temporaryDirectory } from './test-mirror.ts';

/** A filled mirror, the sandbox and all parts of a daemon on one virtual clock, with a list of jobs that nobody has run yet. */
export interface JobWorld extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly start: number;
  readonly sandbox: Sandbox;
  readonly parts: Parts;
  readonly schedule: Schedule;
  /** How often the parts have said something, in the log. */
  said(message: string, fields?: Readonly<Record<string, unknown>>): number;
  readonly images: string;
  readonly snapshot: string;
  readonly backups: string;
  /** Of the files. */
  readonly disk: { free_bytes: number };
  /** By how much the machine's wall clock is wrong. */
  readonly machine: { offset_ms: number };
  /** Runs one piece of work while the clock goes on whenever everybody waits for it. */
  drive<Result>(work: Promise<Result>): Promise<Result>;
  /** Tells every job to end. */
  stop(): void;
  /** Lets time pass until an instant; nobody ticks. */
  until(at: number): Promise<void>;
  /** Reads one number out of a file, or changes what no part of the daemon would. */
  ask(file: 'mirror' | 'inbox', sql: string): number;
  change(file: 'mirror' | 'inbox', sql: string): void;
}

export interface JobWorldOptions {
  /** When its list of jobs is made. */
  readonly start: number;
  /** Of the maintenance, in UTC. */
  readonly at: string;
  /** Jobs whose work is configured where it costs time: those of images, copies, subscriptions and large files. */
  readonly works: readonly string[];
  /** What is done to the daemon's list. */
  readonly mutated?: (jobs: readonly Job[]) => Job[];
  /** Called between two jobs. */
  readonly between?: () => void;
}

/** What a pass may take before the list is made. */
const fillMs = 10 * 60_000;
const outside = new Set(['snapshot', 'backup', 'restore-drill', 'image-files', 'start-check', 'integrity']);
const never = new AbortController().signal;

export async function jobWorld({
  start,
  at,
  works,
  mutated = (jobs) => [...jobs],
  between,
}: JobWorldOptions): Promise<JobWorld> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const clock = virtualClock(start - fillMs);
  const machine = { offset_ms: 0 };
  const machineClock: Clock = { ...clock, now: () => clock.now() + machine.offset_ms };
  const host = stack.use(await startImageHost({ clock, seed: 1 }));
  const products = { products: 5, lean: true, image_origin: host.url };
  const sandbox = stack.use(await startSandbox({ clock, seed: 1, ...products }));
  const [images, snapshot] = [join(path, 'images'), join(path, 'published', 'mirror.db')];
  const backups = join(path, 'backup');
  mkdirSync(dirname(snapshot));
  const port = await freePort();
  const secret = createSecret(canary.master);
  const config = testConfig(
    path,
    sandbox.url,
    {
      scheduling: 'fixed',
      // So slow that a few checks are a flood.
      budget: { requests_per_second: 1, concurrency: 1 },
      maintenance: { at, zone: 'UTC' },
      backup: { directory: backups, at },
      snapshot: works.includes('snapshot') ? { every: '1h', path: snapshot } : {},
      images: { files: works.some((job) => job.startsWith('image-')), directory: images },
      categories: [{ name: 'top', match: { top_sellers: 1 }, cadence: { images: '6d' } }],
      signing: { body: 'json' },
      receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
      subscriptions: works.includes('subscriptions') ? [{ id: 'all', type: 'product_ids', entities: 'mirrored' }] : [],
    },
    { receiver_secret: secret },
  );
  const log = testLog('info');
  const nearby = { addresses: ['127.0.0.1'], requests_per_second: 100_000 };
  let step = 0;
  const wired = stack.use(
    wire(config, log.log, {
      clock: machineClock,
      chance: () => roll(99, step++),
      imageHost: nearby,
      selfTest: async () => ({ result: 'passed', message: '404' }),
    }),
  );
  const { ports, mirror, inbox } = wired;

  let schedule: Schedule | null = null;

  /** Whether a job waits for another process, or for the image host: neither knows our clock. */
  function isOutside(): boolean {
    return schedule?.list().some(({ name, running }) => running === 1 && outside.has(name)) === true;
  }

  async function drive<Result>(work: Promise<Result>): Promise<Result> {
    let ended = false;
    const over = () => {
      ended = true;
    };
    work.then(over, over);
    for (let quiet = 0; !ended; ) {
      await setImmediate();
      const busy =
        isOutside() || wired.limiter.state().in_flight > sandbox.sleeping() || sandbox.inFlight() > sandbox.sleeping();
      quiet = busy ? 0 : quiet + 1;
      if (quiet > 3 && clock.next()) quiet = 0;
    }
    return work;
  }

  while (mirror.filledAt() === null) await drive(pass(ports, wired.workers, { job_id: null, signal: never }));
  const until = (to: number) => drive(clock.sleep(to - clock.now()));
  await until(start);

  // The real ones, but with a disk of ours, and a mirror that was too large for the start.
  const disk = { free_bytes: 9e9 };
  const spaceOf = () => ({ size_bytes: 1e10, ...disk });
  const storage = stack.use(createStorage({ mirror, inbox, clock: ports.clock, log: log.log, spaceOf }));
  const files = watchFiles(config.config.mirror, {
    clock: ports.clock,
    log: log.log,
    unchecked: works.includes('start-check') ? [mirror.path] : [],
  });
  files.opened(mirror, inbox);
  const wiring = { ...wired, storage, files };
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = () => stopping.abort(new Error('the world ends'));
  stack.defer(stop);
  const own = partsOf(wiring, { log: log.log, signal, imageHost: nearby });
  stack.use(own.checks);
  stack.use(own.images);
  // Deadlines and turns of what is outside are of the time outside.
  const { sleep, deadline } = systemClock;
  const imagePorts = { ...ports, clock: { ...ports.clock, sleep, deadline } };
  const imageFiles = stack.use(keepImageFiles({ ...wiring, ports: imagePorts }, nearby));
  const failed = (error: unknown) => {
    throw error;
  };
  const receiving = await startReceiving(wiring, secret, {
    clock: ports.clock,
    log: log.log,
    signal,
    rule: 'check',
    applied: () => {},
    broken: failed,
  });
  if (receiving === null) throw new Error('no receiver');
  stack.use(receiving);
  const parts = { ...own, images: imageFiles, receiving };
  const monotonic = () => {
    between?.();
    return ports.clock.monotonic();
  };
  schedule = createSchedule(mutated(jobsOf(parts)), { clock: { ...ports.clock, monotonic }, signal, failed });
  const place = { mirror: mirror.path, inbox: config.config.mirror.inbox_path };
  const closing = stack.move();
  return {
    clock,
    start,
    sandbox,
    parts,
    schedule,
    said: (message, fields = {}) => {
      const wanted = Object.entries({ ...fields, msg: message });
      return log.lines().filter((line) => wanted.every(([name, value]) => line[name] === value)).length;
    },
    images,
    snapshot,
    backups,
    disk,
    machine,
    drive,
    stop,
    until,
    ask: (file, sql) => {
      const db = new Database(place[file], { readonly: true });
      const found = db.prepare<[], number | null>(sql).pluck().get() ?? 0;
      db.close();
      return Number(found);
    },
    change: (file, sql) => {
      const db = new Database(place[file]);
      db.exec(sql);
      db.close();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
