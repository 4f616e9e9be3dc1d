import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';
import type { Secrets } from '../../src/config/load.ts';
import { type Overrides, type Wiring, wire } from '../../src/daemon/wiring.ts';
import { roll } from '../../src/sandbox/random.ts';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { type VirtualClock, virtualClock } from '../../src/sandbox/virtual-clock.ts';
import { reassignCategories, runChores } from '../../src/sync/chores.ts';
import { type PassResult, pass } from '../../src/sync/engine.ts';
import { type Comparison, compare } from '../oracle/oracle.ts';
import { openMirrorAt } from './mirror-at.ts';
import { startSandbox } from './start-sandbox.ts';
import { testConfig } from './test-config.ts';
import { testLog } from './test-log.ts';
import { temporaryDirectory } from './test-mirror.ts';

/** The sandbox and the real engine in one process, on one clock that stands still until nobody is busy. */
export interface VirtualHarness extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly sandbox: Sandbox;
  readonly wiring: Wiring;
  readonly log: ReturnType<typeof testLog>;
  /** Runs passes, and lets time pass between them, until `done` says so or nothing is ever due again. */
  runUntil(done: () => boolean): Promise<PassResult[]>;
  /** Lives on until the clock shows `end`, ticking once a minute as the daemon does every second. */
  liveUntil(end: number): Promise<void>;
  /** Runs one piece of work while the clock goes on whenever everybody waits for it. */
  drive<Result>(work: Promise<Result>): Promise<Result>;
  /** Ends the process, so to speak, and starts it again: what it knows afterwards, it knows from its files. */
  restart(down?: { meanwhile(): Promise<void> }): Promise<void>;
  compare(): Promise<Comparison>;
}

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** No place that the sandbox knows has midnight in the hours after it: a fill ends on the day on which it began. */
export const noon = Date.parse('2026-11-21T12:30:00Z');

export interface HarnessOptions extends Omit<Overrides, 'clock'> {
  /** The clock of the machine that the engine runs on; else it is right. */
  readonly machine?: (clock: VirtualClock) => Clock;
  readonly start?: number;
  readonly secrets?: Partial<Secrets>;
  /** Told of each move of the clock before anything happens at the new time: until then the files are as they were. */
  readonly moved?: (from: number, to: number) => void;
  /** Whether somebody else is busy, so that time stands still. */
  readonly busy?: () => boolean;
}

export async function virtualHarness(
  options: Partial<SandboxOptions> = {},
  config: Record<string, unknown> = {},
  {
    start = noon,
    secrets = {},
    busy: others = () => false,
    moved = () => {},
    machine = (clock) => clock,
    ...overrides
  }: HarnessOptions = {},
): Promise<VirtualHarness> {
  const clock = virtualClock(start);
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ clock, seed: 1, products: 40, ...options }));
  const log = testLog('warn');
  let chored_at = start - hour;
  let step = 0;
  const chance = () => roll(99, step++);
  const startWiring = () =>
    wire(testConfig(path, sandbox.url, config, secrets), log.log, { clock: machine(clock), chance, ...overrides });
  let wiring = startWiring();
  stack.defer(() => wiring[Symbol.asyncDispose]());

  async function drive<Result>(work: Promise<Result>): Promise<Result> {
    let ended = false;
    const over = () => {
      ended = true;
    };
    work.then(over, over);
    let quiet = 0;
    while (!ended) {
      await setImmediate();
      const busy =
        others() || wiring.limiter.state().in_flight > sandbox.sleeping() || sandbox.inFlight() > sandbox.sleeping();
      quiet = busy ? 0 : quiet + 1;
      // A few turns of the loop: what was just read still has to be stored and asked on.
      if (quiet <= 3) continue;
      const from = clock.now();
      if (!clock.next()) continue;
      quiet = 0;
      if (clock.now() > from) moved(from, clock.now());
    }
    return work;
  }

  return {
    clock,
    sandbox,
    get wiring() {
      return wiring;
    },
    log,
    drive,
    restart: async ({ meanwhile } = { meanwhile: async () => {} }) => {
      await wiring[Symbol.asyncDispose]();
      await meanwhile();
      wiring = startWiring();
    },
    runUntil: async (done) => {
      const results: PassResult[] = [];
      const never = new AbortController();
      while (!done()) {
        results.push(await drive(pass(wiring.ports, wiring.workers, { job_id: null, signal: never.signal })));
        const next = wiring.mirror.records.nextDueAt(null);
        if (done() || next === null) break;
        await drive(clock.sleep(Math.max(next - clock.now(), 1000)));
      }
      return results;
    },
    liveUntil: async (end) => {
      const never = new AbortController().signal;
      while (clock.now() < end) {
        const due = wiring.mirror.records.nextDueAt(null) ?? end;
        const chores = chored_at + hour;
        const next = Math.min(Math.max(due, clock.now() + 1), chores, end);
        // The next whole minute: what falls due in between is read together.
        const at = Math.min(Math.ceil(next / minute) * minute, end);
        await drive(clock.sleep(Math.max(at - clock.now(), 1000)));
        if (!(await drive(wiring.watch.look(never)))) continue;
        if (clock.now() - chored_at >= hour) {
          chored_at = clock.now();
          await drive(runChores(wiring.ports, never));
          await drive(reassignCategories(wiring.ports, never));
        }
        // While the service is away a pass does not end by itself.
        using until = clock.deadline(Math.max(end - clock.now(), 1000));
        await drive(pass(wiring.ports, wiring.workers, { job_id: null, signal: until.signal }));
      }
    },
    compare: async () => {
      const now = clock.now();
      const reader = openMirrorAt(wiring.mirror.path, now);
      // A date that came into the horizon since the last read of the far dates is not known yet, and need not be for a day.
      const before = new Date(now + (now - start < 2 * hour ? 400 : 89) * day).toISOString().slice(0, 10);
      const db = {
        prepare: (sql: string) =>
          reader.prepare(/availability_|bookable_/.test(sql) ? `${sql} AND date < '${before}'` : sql),
      } as unknown as typeof reader;
      try {
        const ids = sandbox.world.visible().map(({ id }) => id);
        const question = { language: 'en', currency: 'EUR', now };
        const state = async (id: number) => {
          const shown = sandbox.state(id, { ...question, horizon: 92 });
          if (shown === null) throw new Error(`no product ${id}`);
          const days = shown.days.filter(({ date }) => date < before);
          // Nor are the variants known that only such a date sells.
          const sells = days.some(({ sold_out }) => !sold_out);
          return { ...shown, days, availability_variants: sells ? shown.availability_variants : [] };
        };
        return await compare(db, ids, state, question);
      } finally {
        reader.close();
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
