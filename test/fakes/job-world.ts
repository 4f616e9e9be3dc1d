import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { createSecret } from '../../src/config/secrets.ts';
import type { Daemon } from '../../src/daemon/context.ts';
import type { Mirroring } from '../../src/daemon/mirroring.ts';
import type { Job } from '../../src/daemon/schedule.ts';
import { watchFiles } from '../../src/files/watch.ts';
import { instant } from '../../src/kernel/clock.ts';
import { startImageHost } from '../../src/sandbox/images/image-host.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { canary } from './canary.ts';
import { freePort } from './free-port.ts';
import { OtherInstances } from './other-instances.ts';
import { nearby } from './test-machine.ts';
import { temporaryDirectory } from './test-mirror.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';
import { filledHarness, type HarnessOptions, virtualHarness } from './virtual-harness.ts';

/** A filled mirror, the sandbox and all parts of a daemon on one virtual clock, with a list of jobs that nobody has run yet. */
export interface JobWorld extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly start: number;
  readonly sandbox: Sandbox;
  readonly daemon: Daemon;
  /** Runs every job whose tick has come. */
  runDue(): Promise<void>;
  /** How often the parts have said something, in the log. */
  said(message: string, fields?: Readonly<Record<string, unknown>>): number;
  readonly images: string;
  readonly snapshot: string;
  readonly backups: string;
  /** Of the files. */
  readonly disk: { free_bytes: number };
  /** By how much the machine's wall clock is wrong. */
  readonly machine: { offset_ms: number };
  readonly others: OtherInstances;
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
  /**
   * Jobs whose work is configured where it costs time: those of images, copies, subscriptions and large files; and
   * `deliveries`, which only a leader of several instances has.
   */
  readonly works: readonly string[];
  /** What is done to the daemon's list. */
  readonly mutated?: (jobs: readonly Job[]) => Job[];
  /** Called between two jobs. */
  readonly between?: () => void;
}

/** What a pass may take before the list is made. */
const fillMs = 10 * 60_000;

export async function jobWorld({ start, at, works, mutated, between }: JobWorldOptions): Promise<JobWorld> {
  await using stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const [images, snapshot] = [join(path, 'images'), join(path, 'published', 'mirror.db')];
  const backups = join(path, 'backup');
  mkdirSync(dirname(snapshot));
  const port = await freePort();
  const fetches = works.some((job) => job.startsWith('image-'));
  const base = {
    scheduling: 'fixed',
    // So slow that a few checks are a flood.
    budget: { requests_per_second: 1, concurrency: 1, audit: works.includes('audit') ? 0.01 : 0 },
    categories: [{ name: 'top', match: { top_sellers: 1 }, cadence: { images: '6d' } }],
  };
  const later = {
    maintenance: { at, zone: 'UTC' },
    backup: { directory: backups, at },
    snapshot: works.includes('snapshot') ? { every: '1h', path: snapshot } : {},
    images: { files: fetches, directory: images },
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
    subscriptions: works.includes('subscriptions') ? [{ id: 'all', type: 'product_ids', entities: 'mirrored' }] : [],
  };
  const machine = { offset_ms: 0 };
  const disk = { free_bytes: 9e9 };
  const others = new OtherInstances();
  let isFilled = false;
  const sandbox = { products: 5, lean: true };
  const overrides: HarnessOptions = {
    start: start - fillMs,
    level: 'info',
    secrets: { receiver_secret: createSecret(canary.master) },
    machine: (own) => ({
      ...own,
      clock: { ...own.clock, now: () => instant(own.clock.now() + machine.offset_ms) },
      disk: { spaceOf: () => ({ size_bytes: 1e10, ...disk }) },
      network: { ...nearby, selfTest: async () => ({ result: 'passed', message: '404', answered: true }) },
    }),
    spoilt: (mirroring) => {
      goThroughFiles(mirroring, works.includes('start-check') ? 'mirror unchecked' : 'checked');
      if (works.includes('deliveries')) Object.assign(mirroring, { sharing: others.sharing() });
    },
    mutated: (jobs) => (isFilled ? (mutated?.(jobs) ?? jobs) : jobs),
    conditions: true,
    between: () => (isFilled ? between?.() : undefined),
  };
  // Images are named by the port of their host, which is another one each time: such a world is no copy.
  const host = fetches ? stack.use(await startImageHost({ clock: virtualClock(start), seed: 1 })) : null;
  isFilled = host === null;
  const harness = stack.use(
    host === null
      ? await filledHarness(sandbox, base, { ...overrides, later, at: start, changed: forgetBudget })
      : await virtualHarness({ ...sandbox, image_origin: host.url }, { ...base, ...later }, overrides),
  );
  const { clock, drive, log } = harness;
  const until = (to: number) => drive(clock.sleep(to - clock.now()));
  if (!isFilled) {
    await harness.fill();
    isFilled = true;
    await harness.restart({
      meanwhile: async () => {
        await until(start);
        forgetBudget(harness.daemon.config.mirror.path);
      },
    });
  }
  const place = { mirror: harness.daemon.config.mirror.path, inbox: harness.daemon.config.mirror.inbox_path };
  const readers = new Readers(place);
  stack.use(readers);
  const closing = stack.move();
  return {
    clock,
    start,
    sandbox: harness.sandbox,
    daemon: harness.daemon,
    runDue: harness.runDue,
    said: (message, fields = {}) => {
      const wanted = Object.entries({ ...fields, msg: message });
      return log.lines().filter((line) => wanted.every(([name, value]) => line[name] === value)).length;
    },
    images,
    snapshot,
    backups,
    disk,
    machine,
    others,
    drive,
    stop: harness.stop,
    until,
    ask: (file, sql) => readers.ask(file, sql),
    change: (file, sql) => {
      const db = new Database(place[file]);
      db.exec(sql);
      db.close();
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Reads both files on a connection each, which is opened once: to open one takes a hundred times as long as to ask. */
class Readers implements Disposable {
  readonly #place: Readonly<Record<'mirror' | 'inbox', string>>;
  readonly #open = new Map<string, Database.Database>();

  constructor(place: Readonly<Record<'mirror' | 'inbox', string>>) {
    this.#place = place;
  }

  /** Returns the number that a question asks for; 0 where there is none. */
  ask(file: 'mirror' | 'inbox', sql: string): number {
    const db = this.#open.getOrInsertComputed(file, () => new Database(this.#place[file], { readonly: true }));
    return Number(db.prepare<[], number | null>(sql).pluck().get() ?? 0);
  }

  [Symbol.dispose](): void {
    for (const db of this.#open.values()) db.close();
  }
}

/** A limiter that goes on from what was learned waits a call's time first: here nothing was learned. */
function forgetBudget(mirror: string): void {
  const db = new Database(mirror);
  db.exec('UPDATE _budget SET state = NULL');
  db.close();
}

/** Replaces the watch of the files by one that goes through them by the program's own means. */
function goThroughFiles(mirroring: Mirroring, found: 'checked' | 'mirror unchecked'): void {
  const { mirror, inbox, config, sync } = mirroring;
  const { clock, log } = sync;
  const files = watchFiles(config.mirror, { clock, log, unchecked: found === 'checked' ? [] : [mirror.path] });
  files.opened(mirror, inbox);
  Object.assign(mirroring, { files });
}
