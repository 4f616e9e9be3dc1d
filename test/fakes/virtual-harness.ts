import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Answer } from '../../src/admin/api.ts';
import type { Secrets } from '../../src/config/load.ts';
import type { Daemon } from '../../src/daemon/context.ts';
import type { Machine } from '../../src/daemon/machine.ts';
import type { Database } from '../../src/kernel/sqlite/database-file.ts';
import { roll } from '../../src/sandbox/random.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import type { MirrorStatus } from '../../src/says/status/status.store.ts';
import type { Resource, ResyncResource } from '../../src/schedule/resources.rules.ts';
import { asFarAsKnown } from '../oracle/horizon.ts';
import { type Comparison, compare } from '../oracle/oracle.ts';
import { type Ask, type JobsOptions, type Rows, startJobs } from './daemon-jobs.ts';
import { filledWorlds, type WorldState } from './filled-worlds.ts';
import { openMirrorAt } from './mirror-at.ts';
import { SeededEntropy } from './seeded-entropy.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testLog } from './test-log.ts';
import { testMachine } from './test-machine.ts';
import { temporaryDirectory } from './test-mirror.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

type Explanation = Extract<Answer<'GET /v1/explain/{id}'>, { readonly records: unknown }>;

/**
 * The sandbox and the daemon's own jobs in one process, on one clock that stands still until nobody is busy: a daemon but
 * for its admin interface and the loops that tick.
 */
export interface VirtualHarness extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly sandbox: Sandbox;
  readonly daemon: Daemon;
  readonly log: ReturnType<typeof testLog>;
  /** Runs every job whose tick has come, while the clock goes on whenever everybody waits for it. */
  runDue(): Promise<void>;
  /** Tells every job to end. */
  stop(): void;
  /** Runs the schedule from one read that is due to the next, until `done` says so or no read is ever due again. */
  runUntil(done: () => boolean): Promise<void>;
  /**
   * Lives on until the clock shows `end`. Ticks once in each minute in which a job says that it has work: what falls due
   * within a minute is done together. With `step`, ticks after each step, whether there is work or not.
   */
  liveUntil(end: number, step?: number): Promise<void>;
  /** The same for so long from now. */
  live(ms: number, step?: number): Promise<void>;
  /** Runs one piece of work while the clock goes on whenever everybody waits for it. */
  drive<Result>(work: Promise<Result>): Promise<Result>;
  /** Runs the schedule until the mirror is filled for the first time. Throws where no read is due before that. */
  fill(): Promise<void>;
  /** Ends the process, so to speak, and starts it again: what it knows afterwards, it knows from its files. */
  restart(down?: Down): Promise<void>;
  /** Returns the rows of the published views, as a shop reads them at the instant of the clock. */
  readonly rows: Rows;
  /** Asks what a command asks the daemon, while the clock goes on. */
  readonly ask: Ask;
  /** Returns the conditions that hold, with their sentences. */
  conditions(): Promise<Partial<Record<ConditionCode, string>>>;
  /** Returns the part of the status that comes from the mirror. */
  status(): MirrorStatus;
  /** Returns what `catalogued explain` reports about a product. */
  explain(product_id: number): Explanation;
  /** Returns the first of a product's records of a resource, as `explain` shows it. */
  record(product_id: number, resource: Resource): Explanation['records'][number] | undefined;
  /** Returns the products that are shown, in ascending order. */
  products(): number[];
  /** Whether the mirror has been filled for the first time. */
  isFilled(): boolean;
  /** Requests what a person does with `catalogued resync`, all products by default. */
  resync(resources: readonly ResyncResource[], product_ids?: readonly number[]): Promise<Answer<'POST /v1/resync'>>;
  /** Returns the progress of a resync. */
  job(job_id: number | null): Answer<'GET /v1/jobs/{id}'>;
  /** Returns the claims of the service that are held. */
  held(): Answer<'GET /v1/held'>['held'];
  /** Lives until a resync has ended, and returns its job. */
  ended(resync: { readonly job_id: number | null }): Promise<Answer<'GET /v1/jobs/{id}'>>;
  /** Compares the mirror with the service. `forge` may put other temporary views in the reader's way. */
  compare(forge?: (reader: Database) => void): Promise<Comparison>;
}

/** What happens while no process runs. */
export interface Down {
  meanwhile(): Promise<void>;
  /** A start has failed: throws on, or returns when the next may be tried. */
  refused?(error: unknown): Promise<void>;
}

/** Products of a sandbox for which a test names no number. */
const defaultProducts = 40;

/** More numbers than a process draws. */
const drawnByLife = 1_000_000;

/** Turns of the event loop in which any call to the sandbox is answered. */
const turnsOfCall = 200;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** No place that the sandbox knows has midnight in the hours after it: a fill ends on the day on which it began. */
export const noon = Date.parse('2026-11-21T12:30:00Z');

export interface HarnessOptions extends JobsOptions {
  /** Changes the machine that the daemon runs on. Its clock is the virtual one. */
  readonly machine?: (machine: Machine) => Machine;
  readonly start?: number;
  readonly secrets?: Partial<Secrets>;
  /** Of the log. */
  readonly level?: 'info' | 'warn';
  /** Told of each move of the clock before anything happens at the new time: until then the files are as they were. */
  readonly moved?: (from: number, to: number) => void;
  /** Whether somebody else is busy, so that time stands still. */
  readonly busy?: () => boolean;
  /** What the network does, where chance may not. */
  readonly wire?: HarnessWire | null;
  /** Whether whatever runs is left as it is: the process was killed, and only `restart` is of use. */
  readonly killed?: () => boolean;
}

/** What waits on it goes on when nothing else is under way. */
export interface HarnessWire {
  /** Calls that are under way. */
  calls(): number;
  /** Whether anything else is. */
  isBusy(): boolean;
  /** Lets the next one go; false: nothing waits. */
  release(): boolean;
}

/** Starts a harness whose mirror is empty. */
export function virtualHarness(
  options: Partial<SandboxOptions> = {},
  config: Record<string, unknown> = {},
  overrides: HarnessOptions = {},
): Promise<VirtualHarness> {
  return harnessOf(options, config, overrides, {});
}

export interface FilledOptions extends HarnessOptions {
  /** `own`: the process that lives on is the one that fills the mirror, by everything that is given here. */
  readonly fill?: 'copied' | 'own';
  /** Configuration that is added once the world is filled: what differs from test to test, like the port of a receiver. */
  readonly later?: Record<string, unknown>;
  /** Instant at which the daemon starts on the copy: nobody was there since the fill. Else it starts at once. */
  readonly at?: number;
  /** Changes the mirror before that. */
  readonly changed?: (mirror: string) => void;
}

/**
 * Starts a harness on a copy of a world that was filled by these options, this configuration and `start`, once a run
 * (filled-worlds.ts). Everything else comes in when it is filled: the sandbox has counted no call of the fill, and
 * nothing of it is in the log. For a test of the fill itself take `virtualHarness` and `fill`.
 */
export async function filledHarness(
  options: Partial<SandboxOptions> = {},
  config: Record<string, unknown> = {},
  { fill = 'copied', later = {}, at, changed, ...overrides }: FilledOptions = {},
): Promise<VirtualHarness> {
  if (fill === 'own') {
    const harness = await harnessOf(options, { ...config, ...later }, overrides, {});
    await harness.fill();
    return harness;
  }
  // Who watches the sandbox does not change what it answers, and a fill asks for no product that is gone.
  const { served: _, counts: __, gone: ___, ...others } = options;
  const sandbox = { products: defaultProducts, ...others };
  const { start = noon } = overrides;
  const key = filledWorlds.key({ sandbox, config, start, quirks: process.env.CATALOGUED_QUIRKS });
  return harnessOf(options, { ...config, ...later }, overrides, {
    prepare: async (path) => {
      const made = await filledWorlds.copyTo(path, key, (directory) => fillIn(directory, sandbox, config, start));
      changed?.(join(path, 'mirror', 'mirror.db'));
      return at === undefined ? made : { ...made, elapsed: at - start };
    },
  });
}

/** Fills a world in a directory and closes it. */
async function fillIn(
  directory: string,
  sandbox: Partial<SandboxOptions>,
  config: Record<string, unknown>,
  start: number,
): Promise<WorldState> {
  let state: WorldState | null = null;
  const closed = (left: WorldState) => {
    state = left;
  };
  await using harness = await harnessOf(sandbox, config, { start }, { directory, closed });
  await harness.fill();
  await harness[Symbol.asyncDispose]();
  if (state === null) throw new Error('the world was not closed');
  return state;
}

/** A world that a harness begins with, or leaves behind. */
interface Place {
  /** Keeps the files here instead of in a directory that goes with the harness. */
  readonly directory?: string;
  /** Puts files into the directory of the harness before the daemon starts on them. */
  readonly prepare?: (path: string) => Promise<WorldState>;
  /** Called when the daemon has closed its files. */
  readonly closed?: (state: WorldState) => void;
}

async function harnessOf(
  options: Partial<SandboxOptions>,
  config: Record<string, unknown>,
  {
    start = noon,
    secrets = {},
    level = 'warn',
    busy: others = () => false,
    wire = null,
    killed = () => false,
    moved = () => {},
    machine = (own) => own,
    ...overrides
  }: HarnessOptions,
  { directory, prepare, closed }: Place,
): Promise<VirtualHarness> {
  const clock = virtualClock(start);
  await using stack = new AsyncDisposableStack();
  const path = directory ?? stack.use(temporaryDirectory()).path;
  const began = await prepare?.(path);
  // Before the clock shows that instant: its calendars change from the start of the world on.
  const sandbox = stack.use(await startSandbox({ clock, products: defaultProducts, ...options }));
  if (began !== undefined) await clock.advance(began.elapsed);
  const log = testLog(level);
  let step = began?.chance ?? 0;
  const { seed = 1 } = options;
  let entropy = new SeededEntropy(seed, began?.entropy);
  let kills = 0;
  const own = testMachine({
    clock,
    chance: () => roll(seed + 98, step++),
    entropy: (bytes) => entropy.bytes(bytes),
    log: log.log,
  });
  const startAgain = () => startJobs(machine(own), testConfig(path, sandbox.url, config, secrets), overrides);
  stack.defer(() => closed?.({ elapsed: clock.now() - start, chance: step, entropy: entropy.step }));
  let life = await startAgain();
  stack.defer(() => life[Symbol.asyncDispose]());

  function isSending(): boolean {
    const sleeping = sandbox.sleeping();
    if (wire !== null) return wire.calls() > sleeping || wire.isBusy();
    return life.daemon.limiter.state().in_flight > sleeping || sandbox.inFlight() > sleeping;
  }

  async function drive<Result>(work: Promise<Result>): Promise<Result> {
    await driveFor(Number.POSITIVE_INFINITY, work);
    return work;
  }

  /** Drives a piece of work for so long, and returns whether it ended: one that takes longer runs on. */
  async function driveFor(ms: number, work: Promise<unknown>): Promise<boolean> {
    let ended = false;
    const over = () => {
      ended = true;
    };
    work.then(over, over);
    const until = clock.monotonic() + ms;
    let [quiet, busy] = [0, 0];
    while (!ended && !killed() && clock.monotonic() < until) {
      // A call takes some turns of the loop. What takes longer waits for another process, which needs the processor.
      await (busy > turnsOfCall ? setTimeout(1) : setImmediate());
      const isBusy = others() || life.isOutside() || isSending();
      [quiet, busy] = isBusy ? [0, busy + 1] : [quiet + 1, 0];
      // A few turns of the loop: what was just read still has to be stored and asked on.
      if (quiet <= 3) continue;
      if (wire?.release()) {
        quiet = 0;
        continue;
      }
      const from = clock.now();
      if (!clock.next(until - clock.monotonic())) continue;
      quiet = 0;
      if (clock.now() > from) moved(from, clock.now());
    }
    return ended;
  }

  /** Runs the jobs whose tick has come. One that takes longer than a second runs on, and the others tick meanwhile. */
  async function tick(): Promise<void> {
    const due = life.runDue();
    if (await driveFor(second, due)) await due;
  }

  async function runUntil(done: () => boolean): Promise<void> {
    if (!done()) await drive(life.run('pass'));
    while (!done()) {
      const next = life.daemon.mirror.schedule.records.nextDueAt(null);
      if (next === null) break;
      await drive(clock.sleep(Math.max(next - clock.now(), second)));
      await tick();
    }
  }

  async function liveUntil(end: number, step?: number): Promise<void> {
    while (clock.now() < end && !killed()) {
      const at = step === undefined ? wholeMinute(clock.now() + Math.max(life.idleFor(), 1)) : clock.now() + step;
      await driveFor(Number.POSITIVE_INFINITY, clock.sleep(Math.min(at, end) - clock.now()));
      if (!killed()) await tick();
    }
  }

  const rows: Rows = (sql, ...values) => life.rows(sql, ...values);
  const ask: Ask = (name, request) => drive(life.ask(name, request));
  const job = (job_id: number | null) => life.askNow('GET /v1/jobs/{id}', { path: { id: String(job_id) } });
  const explain = (id: number): Explanation => {
    const found = life.askNow('GET /v1/explain/{id}', { path: { id } });
    if (!('records' in found)) throw new Error(`product ${id} is explained for a date`);
    return found;
  };
  const isFilled = () => rows<{ filled_at: number | null }>('SELECT filled_at FROM mirror_info')[0]?.filled_at != null;

  const closing = stack.move();
  return {
    clock,
    sandbox,
    rows,
    ask,
    conditions: async () => {
      const { conditions } = await ask('GET /v1/status');
      return Object.fromEntries(conditions.map(({ code, says }) => [code, says]));
    },
    explain,
    record: (id, resource) => explain(id).records.find((record) => record.resource === resource),
    status: () => life.status(),
    products: () =>
      rows<{ product_id: number }>('SELECT DISTINCT product_id FROM products ORDER BY 1').map(
        ({ product_id }) => product_id,
      ),
    isFilled,
    resync: (resources, product_ids = []) => ask('POST /v1/resync', { body: { resources, product_ids } }),
    job,
    held: () => life.askNow('GET /v1/held').held,
    ended: async ({ job_id }) => {
      await runUntil(() => job(job_id).left === 0);
      return job(job_id);
    },
    get daemon() {
      return life.daemon;
    },
    log,
    drive,
    runDue: () => drive(life.runDue()),
    stop: () => life.stop(),
    restart: async ({ meanwhile, refused = rethrow } = { meanwhile: async () => {} }) => {
      // What was sent arrives, also of a process that was killed.
      while (wire !== null && wire.calls() > sandbox.sleeping()) await setImmediate();
      await life[Symbol.asyncDispose]();
      // A process that was killed drew on until this was noticed, in the machine's time: the next one does not go on from there.
      if (killed()) {
        kills += 1;
        step = kills * drawnByLife;
        entropy = new SeededEntropy(seed, kills * drawnByLife);
      }
      await meanwhile();
      for (let next: typeof life | null = null; next === null; ) {
        next = await startAgain().catch(async (error: unknown) => {
          await refused(error);
          return null;
        });
        life = next ?? life;
      }
    },
    runUntil,
    fill: async () => {
      await runUntil(isFilled);
      if (!isFilled()) throw new Error('the mirror is not filled, and no read is due');
    },
    liveUntil,
    live: (ms, step) => liveUntil(clock.now() + ms, step),
    compare: async (forge = () => {}) => {
      const now = clock.now();
      const reader = openMirrorAt(life.daemon.config.mirror.path, now);
      forge(reader);
      // A date that came into the horizon since the last read of the far dates is not known yet, and need not be for a day.
      const before = new Date(now + (now - start < 2 * hour ? 400 : 89) * day).toISOString().slice(0, 10);
      try {
        const ids = sandbox.world.visible().map(({ id }) => id);
        const { files } = life.daemon.config.images;
        const question = { language: 'en', currency: 'EUR', now, files };
        const state = async (id: number) => {
          const shown = sandbox.state(id, { ...question, horizon: 92 });
          if (shown === null) throw new Error(`no product ${id}`);
          return asFarAsKnown(reader, shown, before);
        };
        return await compare(reader, ids, state, question);
      } finally {
        reader.close();
      }
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const rethrow = (error: unknown) => Promise.reject(error);
const wholeMinute = (at: number) => Math.ceil(at / minute) * minute;
