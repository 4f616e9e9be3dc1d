import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { report } from '../../src/commands/main.ts';
import { createSecret } from '../../src/config/secrets.ts';
import type { Mirroring } from '../../src/daemon/mirroring.ts';
import { repairFiles } from '../../src/files/repair.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { exitCodes } from '../../src/kernel/errors.ts';
import type { Delivery } from '../../src/receiver/delivery.ts';
import { type SandboxImageHost, startImageHost } from '../../src/sandbox/images/image-host.ts';
import { postJson } from '../../src/sandbox/push/delivery.ts';
import { kind, type Quirks } from '../../src/sandbox/rough/quirks.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { type MachineClock, machineClock } from '../fakes/machine-clock.ts';
import { seededEntropy } from '../fakes/seeded-entropy.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { type PlantedZone, plantZones } from '../fakes/zone-files.ts';
import { openWire, type Wire } from './wire.ts';

/** Name of a seeded bug, which every run of seeds must find. */
export type Plant = 'none' | 'skips a delivery';

export interface WorldOptions {
  readonly seed: number;
  /** The simulated service. */
  readonly sandbox: Partial<SandboxOptions>;
  /** What the first start reads beside the address of the receiver and its subscription. */
  readonly config: Record<string, unknown>;
  /** True: the daemon looks for conditions by itself, not only when `daemon.conditions.look` is called. */
  readonly conditions?: boolean;
  readonly plant?: Plant;
  /** How slow the network is, in turns of the event loop. */
  readonly lag?: number;
  /** Instant of the beginning; else the noon of every harness. */
  readonly start?: number;
  /** Time zones of the machine, which it then knows better than the runtime. */
  readonly zones?: Readonly<Record<string, PlantedZone>>;
  /**
   * `even`: every number that the daemon draws is one half, and the network is a queue. What is left then does not depend
   * on how often the daemon draws, or how many calls wait beside each other.
   */
  readonly chance?: 'even';
}

/** So much is free unless something happens. */
export const plentyBytes = 10e9;
/** Busy minutes have some sixty calls; a loop that nothing bounds but the budget has up to 3,000. */
const mostCallsInAMinute = 500;
/** Why a world stands still that called more often (`killed`): it is beyond living on. */
export const squandering = `calling more than ${mostCallsInAMinute} times in a minute`;
/** A start waits five seconds of real time for a file that another program holds. */
const betweenStartsMs = 10 * 60_000;

/**
 * The loopback address of this process, so that two that live through the same seed do not meet at its port. Digests are
 * made without it.
 */
const ownHost = `127.${[14, 7, 0].map((shift) => 10 + ((process.pid >> shift) & 127)).join('.')}`;
/** The port of a seed, below those that systems give out, and above 10,080, which `fetch` asks nothing of. */
const portOf = (seed: number) => 10_100 + (seed % 10_000);
/** Address of every image host in the service's answers, unless files are fetched from the host of this process. */
const namedHost = '127.9.9.9';

/** A daemon with its receiver and the service in one process on one clock, whose disk, clock and life can be spoilt. */
export class World implements AsyncDisposable {
  /** What is `full` takes no more, whatever room it shows: a quota is not shown. */
  readonly disk = { full: false, free_bytes: plentyBytes };
  /** The proxy before the receiver: whether it refuses the test of the public address. */
  readonly proxy = { refuses: false };
  /** Quirks of the service where no event sets others. */
  readonly quirks: Quirks;
  /** What a start reads, and the next reload. */
  readonly config: Record<string, unknown>;
  /** How often each thing happened. */
  readonly sometimes = new Map<string, number>();
  readonly #options: WorldOptions;
  readonly #wire: Wire;
  readonly #stack = new AsyncDisposableStack();
  /** Where the machine keeps its time zones: none until a failure plants some. */
  readonly zones = this.#stack.use(temporaryDirectory()).path;
  harness!: VirtualHarness;
  #images: SandboxImageHost | null = null;
  #machine: MachineClock | null = null;
  /** Self tests under way, for which time stands still. */
  #asking = 0;
  #steps = 0;
  /** Steps that are left until it is killed, and which of them count; 0: it is not to be killed. */
  #left = 0;
  #counted: 'all' | 'deliveries' = 'all';
  #killed: string | null = null;
  #cut = Promise.withResolvers<null>();
  #isLost = false;
  #calls = { minute: 0, sent: 0 };

  static async open(options: WorldOptions): Promise<World> {
    const world = new World(options);
    await world.#open();
    return world;
  }

  private constructor(options: WorldOptions) {
    const { seed, sandbox, config, lag, chance, zones } = options;
    this.#options = options;
    this.quirks = { ...kind, ...sandbox.quirks };
    this.config = {
      signing: { body: 'json' },
      subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
      ...config,
      receiver: { listen: this.#listen, public_url: this.#publicUrl, ...(config.receiver as object) },
    };
    this.#wire = this.#stack.use(openWire(chance === 'even' ? null : seed, lag));
    if (zones !== undefined) plantZones(this.zones, '2099a', zones);
  }

  /** The clock of the machine, which may be wrong. */
  get machine(): MachineClock {
    if (this.#machine === null) throw new Error('nobody has asked for the clock');
    return this.#machine;
  }

  /** The host of image files. Throws where none are fetched. */
  get images(): SandboxImageHost {
    if (this.#images === null) throw new Error('no image files are fetched');
    return this.#images;
  }

  /** Returns text of this world without what differs from process to process: its addresses and its directory. */
  anonymous(text: string): string {
    return text.replaceAll(ownHost, namedHost).replaceAll(this.#directory, 'our files');
  }

  /** Number of steps of all its lives. */
  get steps(): number {
    return this.#steps;
  }

  /** The step at which it was killed since its last start, or that it was stopped for `squandering`; null: it lives. */
  get killed(): string | null {
    return this.#killed;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Notes that the mirror's file is gone. */
  lost(): void {
    this.#isLost = true;
  }

  /** Notes that something has happened. */
  seen(what: string): void {
    this.sometimes.set(what, (this.sometimes.get(what) ?? 0) + 1);
  }

  /**
   * Has the process killed at the `step`-th of its steps from now: a look at its clock, or the beginning, the last moment or the
   * end of a transaction. Its files stay as they are in that moment. Of `deliveries`, only steps count at which one is stored.
   */
  killAt(step: number, among: 'all' | 'deliveries' = 'all'): void {
    this.#left = step;
    this.#counted = among;
  }

  /**
   * Starts it again after so long, and repairs a lost mirror before: what was killed, from the files that it left. A start
   * that is refused until later is tried again each minute, as a supervisor does; `passed` is called after each.
   */
  async startAgain(down_ms: number, passed: () => Promise<void>): Promise<void> {
    const { harness } = this;
    const wasKilled = this.#killed !== null;
    this.#left = 0;
    await harness.restart({
      meanwhile: async () => {
        if (wasKilled) bringBack(this.#directory);
        this.#killed = null;
        const entropy = seededEntropy(this.#options.seed);
        if (this.#isLost) repairFiles(harness.daemon.config, { now: harness.clock.now(), dry: false, entropy });
        this.#isLost = false;
        this.#cut = Promise.withResolvers();
        await harness.drive(harness.clock.sleep(down_ms));
        await passed();
      },
      refused: async (error) => {
        const code = report(error, capturedIo(), 'run');
        if (code !== exitCodes.retryLater && code !== exitCodes.io) throw error;
        this.seen(`a start was refused: exit ${code}`);
        await harness.drive(harness.clock.sleep(betweenStartsMs));
        await passed();
      },
    });
    harness.daemon.writer.serve();
  }

  /** Runs work of somebody beside the daemon; null: the daemon was killed meanwhile. */
  attempt<Result>(work: () => Promise<Result>): Promise<Result | null> {
    const done = work();
    done.catch(() => undefined);
    return this.harness.drive(Promise.race([done, this.#cut.promise]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  get #listen(): string {
    return `${ownHost}:${portOf(this.#options.seed)}`;
  }

  get #publicUrl(): string {
    return `http://${this.#listen}/hooks`;
  }

  get #directory(): string {
    return dirname(dirname(this.harness.daemon.config.mirror.path));
  }

  async #open(): Promise<void> {
    const { seed, sandbox, conditions = false, start, chance } = this.#options;
    const clock: Clock = { ...systemClock, now: () => this.harness.clock.now() };
    const port = portOf(seed) + 10_000;
    if ((this.config.images as { readonly files?: boolean } | undefined)?.files === true)
      this.#images = this.#stack.use(await startImageHost({ clock, seed, host: ownHost, port }));
    const wire = this.#wire;
    this.harness = this.#stack.use(
      await virtualHarness(
        {
          lean: true,
          seed,
          image_origin: this.#images?.url ?? `http://${namedHost}:${port}`,
          post: (url, body, signal) => wire.post(() => postJson(url, body, signal), signal),
          ...sandbox,
        },
        this.config,
        {
          ...(start === undefined ? {} : { start }),
          conditions,
          level: 'info',
          secrets: { receiver_secret: createSecret(canary.master) },
          killed: () => this.#killed !== null,
          busy: () => this.#asking > 0,
          wire,
          machine: (own) => {
            this.#machine ??= machineClock(own.clock);
            const { now } = this.#machine;
            return {
              ...own,
              ...(chance === 'even' ? { chance: () => 0.5 } : {}),
              clock: { ...this.#machine, now: () => this.#at('looking at the clock', now) },
              zones: { directory: this.zones, runtime: '2026c' },
              disk: {
                inodeOf: () => '1',
                spaceOf: () => ({ size_bytes: 2 * plentyBytes, free_bytes: this.disk.free_bytes }),
              },
              network: {
                imageHost: {
                  addresses: [namedHost, ownHost],
                  requests_per_second: Number.POSITIVE_INFINITY,
                  at_once: 1,
                },
                selfTest: () => this.#selfTest(),
              },
            };
          },
          spoilt: (mirroring) => this.#spoilt(mirroring),
        },
      ),
    );
    this.harness.daemon.writer.serve();
  }

  async #selfTest() {
    if (this.proxy.refuses) return { result: 'failed', message: '502', answered: true } as const;
    this.#asking += 1;
    const { status } = await fetch(`${this.#publicUrl}/${'x'.repeat(43)}`, { method: 'POST' }).finally(() => {
      this.#asking -= 1;
    });
    return { result: status === 404 ? 'passed' : 'failed', message: String(status), answered: false } as const;
  }

  /** Takes a step, at which it may be killed. */
  #step(where: string): void {
    if (this.#killed !== null) return;
    this.#steps += 1;
    if (this.#left === 0) return;
    if (this.#counted === 'deliveries' && !where.endsWith('a delivery is stored')) return;
    this.#left -= 1;
    if (this.#left > 0) return;
    keepFiles(this.#directory);
    this.#killed = where;
    this.#cut.resolve(null);
  }

  #at<Result>(where: string, work: () => Result): Result {
    this.#step(where);
    return work();
  }

  #countCall(): void {
    const now = Math.floor(this.harness.clock.now() / 60_000);
    this.#calls = { minute: now, sent: this.#calls.minute === now ? this.#calls.sent + 1 : 1 };
    if (this.#calls.sent > mostCallsInAMinute) this.#killed = squandering;
  }

  /** Ends as SQLite does on a full disk. */
  #refuseWhereFull(): void {
    if (this.disk.full) throw new DiskFull('database or disk is full');
  }

  /** What is dead neither sends nor stores nor answers: its files are those of another life by now. */
  #refuseWhereDead(): void {
    if (this.#killed !== null) throw new DiskFull('killed');
  }

  /** A transaction on a full disk ends as SQLite ends it; one in which the process is killed never happened. */
  #spoilt({ mirror, inbox, limiter }: Mirroring): void {
    const transaction = mirror.transaction.bind(mirror);
    const store = inbox.deliveries.store.bind(inbox.deliveries);
    const after = inbox.deliveries.after.bind(inbox.deliveries);
    const run = limiter.run.bind(limiter);
    for (const file of [mirror, inbox]) {
      const touch = file.touch.bind(file);
      const refused = () => {
        this.#refuseWhereFull();
        touch();
      };
      Object.assign(file, { touch: refused });
    }
    Object.assign(mirror, {
      transaction: <Result>(work: () => Result): Result => {
        this.#step('beginning a transaction');
        const result = transaction(() => {
          const done = work();
          this.#refuseWhereFull();
          this.#step('before a commit');
          return done;
        });
        this.#step('after a commit');
        return result;
      },
    });
    Object.assign(limiter, {
      run: (call: Parameters<typeof run>[0], ...rest: Tail<Parameters<typeof run>>) =>
        run(
          (signal) =>
            this.#wire.call(async () => {
              this.#refuseWhereDead();
              this.#countCall();
              return call(signal);
            }, signal),
          ...rest,
        ),
    });
    Object.assign(inbox.deliveries, {
      store: (group: Parameters<typeof store>[0]) => {
        this.#refuseWhereDead();
        this.#refuseWhereFull();
        this.#step('before a delivery is stored');
        this.#refuseWhereDead();
        store(group);
        this.#step('after a delivery is stored');
        this.#refuseWhereDead();
      },
      ...(this.#options.plant === 'skips a delivery'
        ? { after: (...question: Parameters<typeof after>) => after(...question).map(skipped) }
        : {}),
    });
  }
}

class DiskFull extends Error {
  readonly code = 'SQLITE_FULL';
}

type Tail<Parts extends readonly unknown[]> = Parts extends readonly [unknown, ...infer Rest] ? Rest : never;

/** Returns what the seeded bug makes of every second delivery: it is applied, and nothing comes of it. */
function skipped(delivery: Delivery): Delivery {
  const { delivery_id, subscription_id } = delivery;
  const body = Buffer.from(JSON.stringify({ subscription_id, products: [] }));
  return delivery_id % 2 === 0 ? { ...delivery, body } : delivery;
}

const kept = '.killed';

/** Copies what a kill leaves of the files: all that was written, and nothing that was only in memory. */
function keepFiles(directory: string): void {
  rmSync(directory + kept, { recursive: true, force: true });
  cpSync(directory, directory + kept, {
    recursive: true,
    preserveTimestamps: true,
    filter: (path) => !/-shm$|\.sock$/.test(path),
  });
}

function bringBack(directory: string): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
  for (const name of readdirSync(directory + kept)) renameSync(join(directory + kept, name), join(directory, name));
  rmSync(directory + kept, { recursive: true });
}
