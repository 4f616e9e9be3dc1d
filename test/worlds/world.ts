import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../../src/clock.ts';
import { report } from '../../src/commands/main.ts';
import { createSecret } from '../../src/config/secrets.ts';
import type { Wiring } from '../../src/daemon/wiring.ts';
import { exitCodes } from '../../src/errors.ts';
import { repairFiles } from '../../src/files/repair.ts';
import type { Delivery } from '../../src/inbox/delivery.ts';
import { type SandboxImageHost, startImageHost } from '../../src/sandbox/images/image-host.ts';
import { postJson } from '../../src/sandbox/push/post.ts';
import { type Habits, kind } from '../../src/sandbox/rough/habits.ts';
import { canary } from '../fakes/canary.ts';
import { capturedIo } from '../fakes/captured-io.ts';
import { type MachineClock, machineClock } from '../fakes/machine-clock.ts';
import { seededEntropy } from '../fakes/seeded-entropy.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { imageHosts, imagePortOf, ownHost, portOf } from './own-address.ts';
import type { Setting } from './plan.ts';
import { openWire, type Wire } from './wire.ts';

/** What a planted bug breaks: each must be found. */
export type Plant = 'none' | 'skips a delivery';

/** A daemon with its receiver and the service in one process on one clock, whose disk, clock and life can be spoilt. */
export interface House extends AsyncDisposable {
  readonly harness: VirtualHarness;
  readonly images: SandboxImageHost;
  /** What is `full` takes no more, whatever room it shows: a quota is not shown. */
  readonly disk: { full: boolean; free_bytes: number };
  /** What stands before the receiver: whether it refuses who tests the public address from here. */
  readonly proxy: { refuses: boolean };
  readonly machine: MachineClock;
  /** What the service is like where no event says otherwise. */
  readonly habits: Habits;
  /** What a start reads, and the next reload. */
  readonly config: Record<string, unknown>;
  /**
   * Has the process killed at the `step`-th of its steps from now: a look at its clock, or the beginning, the last moment or the
   * end of a transaction. Its files stay as they are in that moment. Of `deliveries`, only steps count at which one is stored.
   */
  killAt(step: number, among?: 'all' | 'deliveries'): void;
  /** How many steps there were, of all its lives. */
  steps(): number;
  /** Whether it was killed since its last start, and between what, or stopped for `squandering`; null: it lives. */
  killed(): string | null;
  /** Notes that the mirror's file is gone. */
  lost(): void;
  isLost(): boolean;
  /**
   * Starts it again after so long, and repairs a lost mirror before: what was killed, from the files that it left. A start
   * that is refused until later is tried again each minute, as a supervisor does; `passed` is called after each.
   */
  startAgain(down_ms: number, passed: () => Promise<void>): Promise<void>;
  /** Runs work of somebody beside the daemon; null: the daemon was killed meanwhile. */
  attempt<Result>(work: () => Promise<Result>): Promise<Result | null>;
  /** Notes what has happened now and then. */
  seen(what: string): void;
  readonly sometimes: ReadonlyMap<string, number>;
}

/** So much is free unless something happens. */
export const plentyBytes = 10e9;

/** Days ahead: what the comparison of a virtual harness expects. */
export const horizon = 92;

/** Busy minutes have some sixty calls; a loop that nothing bounds but the budget has up to 3,000. */
const mostCallsInAMinute = 500;
/** Why a house stands still that called more often (`killed`): it is beyond living on. */
export const squandering = `calling more than ${mostCallsInAMinute} times in a minute`;

const minute = 60_000;

export interface HouseOptions {
  readonly plant?: Plant;
  /** How slow the network is, in turns of the event loop. */
  readonly lag?: number;
}

export async function openHouse(
  seed: number,
  setting: Setting,
  { plant = 'none', lag }: HouseOptions = {},
): Promise<House> {
  await using stack = new AsyncDisposableStack();
  const listen = `${ownHost}:${portOf(seed)}`;
  const public_url = `http://${listen}/hooks`;
  const config = configOf(setting, listen, public_url);
  const sometimes = new Map<string, number>();
  const seen = (what: string) => void sometimes.set(what, (sometimes.get(what) ?? 0) + 1);
  const disk = { full: false, free_bytes: plentyBytes };
  const proxy = { refuses: false };
  let asking = 0;
  let left = 0;
  let counted: 'all' | 'deliveries' = 'all';
  let lost = false;
  let killed: string | null = null;
  let cut = Promise.withResolvers<null>();
  let machine: MachineClock | null = null;
  let steps = 0;
  const step = (where: string) => {
    if (killed !== null) return;
    steps += 1;
    if (left === 0) return;
    if (counted === 'deliveries' && !where.endsWith('a delivery is stored')) return;
    left -= 1;
    if (left > 0) return;
    keepFiles(directory());
    killed = where;
    cut.resolve(null);
  };
  const wire = stack.use(openWire(seed, lag));
  const calls = { minute: 0, sent: 0 };
  const call = () => {
    const now = Math.floor(harness.clock.now() / minute);
    calls.sent = calls.minute === now ? calls.sent + 1 : 1;
    calls.minute = now;
    if (calls.sent > mostCallsInAMinute) killed = squandering;
  };
  const clock: Clock = { ...systemClock, now: () => harness.clock.now() };
  const imagesAt = (host: string) => startImageHost({ clock, seed, host, port: imagePortOf(seed) });
  const [usual, own] = imageHosts;
  const images = stack.use(await imagesAt(usual).catch(() => imagesAt(own)));
  const harness: VirtualHarness = stack.use(
    await virtualHarness(
      {
        lean: true,
        seed,
        products: setting.products,
        hold_ms: setting.hold_minutes * minute,
        batch: setting.batch,
        gone: setting.gone,
        habits: setting.habits,
        counts: 'none',
        image_origin: images.url,
        post: (url, body, signal) => wire.post(() => postJson(url, body, signal), signal),
      },
      config,
      {
        level: 'info',
        imageHost: { addresses: imageHosts, requests_per_second: Number.POSITIVE_INFINITY, at_once: 1 },
        inodeOf: () => '1',
        spaceOf: () => ({ size_bytes: 2 * plentyBytes, free_bytes: disk.free_bytes }),
        secrets: { receiver_secret: createSecret(canary.master) },
        killed: () => killed !== null,
        busy: () => asking > 0,
        wire,
        machine: (clock) => {
          const own = machine ?? machineClock(clock);
          machine = own;
          const now = () => {
            step('looking at the clock');
            return own.now();
          };
          return { ...own, now };
        },
        selfTest: async () => {
          if (proxy.refuses) return { result: 'failed', message: '502', answered: true };
          asking += 1;
          const { status } = await fetch(`${public_url}/${'x'.repeat(43)}`, { method: 'POST' }).finally(() => {
            asking -= 1;
          });
          return { result: status === 404 ? 'passed' : 'failed', message: String(status) };
        },
        rewired: (wiring) => spoilt(wiring, { disk, step, call, wire, isDead: () => killed !== null, plant, seed }),
      },
    ),
  );
  const directory = () => dirname(dirname(harness.wiring.mirror.path));
  if (machine === null) throw new Error('nobody has asked for the clock');
  harness.wiring.storage.serve();
  const closing = stack.move();
  return {
    harness,
    images,
    disk,
    proxy,
    machine,
    habits: { ...kind, ...setting.habits },
    config,
    killAt: (at, among = 'all') => {
      left = at;
      counted = among;
    },
    steps: () => steps,
    killed: () => killed,
    lost: () => {
      lost = true;
    },
    isLost: () => lost,
    startAgain: async (down_ms, passed) => {
      left = 0;
      const was = killed;
      await harness.restart({
        meanwhile: async () => {
          if (was !== null) bringBack(directory());
          killed = null;
          const { config: loaded } = harness.wiring;
          if (lost) repairFiles(loaded, { now: harness.clock.now(), dry: false, entropy: seededEntropy(seed) });
          lost = false;
          cut = Promise.withResolvers();
          await harness.drive(harness.clock.sleep(down_ms));
          await passed();
        },
        refused: async (error) => {
          const code = report(error, capturedIo(), 'run');
          if (code !== exitCodes.retryLater && code !== exitCodes.io) throw error;
          seen(`a start was refused: exit ${code}`);
          await harness.drive(harness.clock.sleep(betweenStartsMs));
          await passed();
        },
      });
      harness.wiring.storage.serve();
    },
    attempt: (work) => {
      const done = work();
      done.catch(() => undefined);
      return harness.drive(Promise.race([done, cut.promise]));
    },
    seen,
    sometimes,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

class DiskFull extends Error {
  readonly code = 'SQLITE_FULL';
}

interface Spoiling {
  readonly disk: { readonly full: boolean };
  readonly step: (where: string) => void;
  readonly call: () => void;
  readonly wire: Wire;
  readonly isDead: () => boolean;
  readonly plant: Plant;
  readonly seed: number;
}

type Tail<Parts extends readonly unknown[]> = Parts extends readonly [unknown, ...infer Rest] ? Rest : never;

/** A transaction on a full disk ends as SQLite ends it; one in which the process is killed never happened. */
function spoilt(wiring: Wiring, { disk, step, call: counted, wire, isDead, plant }: Spoiling): Wiring {
  const { mirror, inbox, limiter } = wiring;
  const refuse = () => {
    if (disk.full) throw new DiskFull('database or disk is full');
  };
  const { transaction, touch } = mirror;
  const { store, after } = inbox.deliveries;
  const { touch: touchInbox } = inbox;
  const { run } = limiter;
  Object.assign(mirror, {
    transaction: <Result>(work: () => Result): Result => {
      step('beginning a transaction');
      const result = transaction(() => {
        const done = work();
        refuse();
        step('before a commit');
        return done;
      });
      step('after a commit');
      return result;
    },
    touch: () => {
      refuse();
      touch();
    },
  });
  Object.assign(limiter, {
    run: (call: Parameters<typeof run>[0], ...rest: Tail<Parameters<typeof run>>) =>
      run(
        (signal) =>
          wire.call(async () => {
            // What is dead sends nothing: the service would know what the next life does not.
            if (isDead()) throw new DiskFull('killed');
            counted();
            return call(signal);
          }, signal),
        ...rest,
      ),
  });
  Object.assign(inbox, {
    touch: () => {
      refuse();
      touchInbox();
    },
  });
  Object.assign(inbox.deliveries, {
    store: (group: Parameters<typeof store>[0]) => {
      // Its files are those of another life by now.
      if (isDead()) throw new DiskFull('killed');
      refuse();
      step('before a delivery is stored');
      if (isDead()) throw new DiskFull('killed');
      store(group);
      step('after a delivery is stored');
      // Nor does it answer.
      if (isDead()) throw new DiskFull('killed');
    },
    ...(plant === 'skips a delivery'
      ? { after: (...question: Parameters<typeof after>) => after(...question).map(skipped) }
      : {}),
  });
  return wiring;
}

/** What the canary makes of every second delivery: it is applied, and nothing comes of it. */
function skipped(delivery: Delivery): Delivery {
  const { delivery_id, subscription_id } = delivery;
  const body = Buffer.from(JSON.stringify({ subscription_id, products: [] }));
  return delivery_id % 2 === 0 ? { ...delivery, body } : delivery;
}

/** A start waits five seconds of real time for a file that another program holds. */
const betweenStartsMs = 10 * minute;

const kept = '.killed';

/** What a kill leaves of the files: all that was written, and nothing that was only in memory. */
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

function configOf(setting: Setting, listen: string, public_url: string): Record<string, unknown> {
  const every = `${setting.every_hours}h`;
  const list = setting.list_days === 0 ? every : `${setting.list_days}d`;
  const each = { products: list, checkout_information: every };
  return {
    service: {
      profile: { authorization: { header: null }, notifications: { hold: `${setting.hold_minutes}m`, retries: '15m' } },
    },
    scheduling: setting.scheduling,
    budget: { requests_per_second: 50, concurrency: 4, share: setting.share, audit: setting.audit },
    signing: { body: 'json' },
    receiver: { listen, public_url, rotate_every: `${setting.rotate_days}d`, grace: '12h' },
    subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
    rows: { publish: true },
    ...(setting.files ? { images: { files: true, sizes: ['small'] } } : {}),
    cadence: {
      ...each,
      product_detail: every,
      variants: every,
      experiences: every,
      images: every,
      dynamic_pricing: each,
      covered: { checkout_information: `${2 * setting.every_hours}h`, variants: `${2 * setting.every_hours}h` },
      availability: {
        horizon,
        near: { days: 14, every },
        middle: { days: 31, every },
        far: { every },
      },
    },
  };
}
