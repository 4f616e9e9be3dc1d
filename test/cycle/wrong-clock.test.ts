import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { requestResync, resyncResources } from '../../src/cycle/request-resync.ts';
import { runSyncCycle } from '../../src/cycle/sync-cycle.ts';
import { type InstantRule, type InstantRules, longestAheadMs } from '../../src/kernel/sqlite/instants.ts';
import { mirrorInstants } from '../../src/mirror/sql/instants.ts';
import { inboxInstants } from '../../src/receiver/tables.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import { type MachineClock, machineClock } from '../fakes/machine-clock.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { someOf, thorough } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

interface Course {
  readonly harness: VirtualHarness;
  readonly machine: MachineClock;
  /** Runs the daemon's schedule. */
  live(ms: number): Promise<void>;
  /** Lets time pass in which nothing is done. */
  pass(ms: number): Promise<void>;
  noticed(): ConditionCode[];
  /** What is wrong beside the catalogue: hidden images, promises, instants that cannot be, things forgotten. */
  wrong(): string[];
  /** Conditions, that, and what the catalogue has otherwise. */
  troubles(): Promise<unknown[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** `fill`: whether the process that lives on is the one that has filled the mirror. */
async function course(sandbox: Partial<SandboxOptions> = {}, fill: 'copied' | 'own' = 'copied'): Promise<Course> {
  let machine: MachineClock | undefined;
  const harness = await filledHarness(
    { products: 8, ...sandbox },
    { scheduling: 'fixed' },
    {
      fill,
      machine: (own) => {
        machine ??= machineClock(own.clock);
        return { ...own, clock: machine };
      },
    },
  );
  if (machine === undefined) throw new Error('the harness has no machine');
  const { clock } = harness;
  const { status } = harness;
  const kept = () => {
    const db = openMirrorAt(harness.daemon.config.mirror.path, clock.now());
    const count = (table: string) => db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
    const counts = { changes: count('_change'), images: count('image'), closures: count('_closure') };
    db.close();
    return counts;
  };
  const before = kept();
  const shown = status().images;

  const at: Course = {
    harness,
    machine,
    // Every second while something may happen, else every ten.
    live: (ms) => harness.live(ms, ms > 5 * minute ? 10 * second : second),
    pass: (ms) => harness.drive(clock.sleep(ms)),
    noticed: () => noticedIn(harness.daemon.config.mirror.path, clock.now()),
    wrong: () => {
      const { images, freshness } = status();
      const now = kept();
      return [
        ...(images === shown ? [] : [`${images} of ${shown} images are shown`]),
        ...freshness.filter((each) => each.met === 0).map(({ resource, tier }) => `${resource} ${tier} is not met`),
        ...insane(harness, clock.now()),
        ...Object.entries(before).flatMap(([name, rows]) => {
          const left = now[name as keyof typeof now];
          return left >= rows ? [] : [`${left} of ${rows} ${name} are left`];
        }),
      ];
    },
    troubles: async () => [...at.noticed(), ...at.wrong(), ...(await harness.compare()).first],
    [Symbol.asyncDispose]: async () => await harness[Symbol.asyncDispose](),
  };
  return at;
}

/** Instants of the mirror that cannot be. */
function insane({ daemon }: VirtualHarness, now: number): string[] {
  const db = openMirrorAt(daemon.config.mirror.path, now);
  const found = Object.entries(mirrorInstants).flatMap(([table, columns]) =>
    Object.entries(columns).flatMap(([column, rule]) => {
      if (rule === 'day' || (typeof rule === 'object' && 'leave' in rule)) return [];
      const ahead = rule === 'ahead' || typeof rule === 'object';
      const latest = now + (ahead ? longestAheadMs : 5 * minute);
      const earliest = ahead ? 0 : Date.UTC(2020);
      const rows = db
        .prepare<[number, number], number>(`SELECT count(*) FROM ${table} WHERE ${column} > ? OR ${column} < ?`)
        .pluck()
        .get(latest, earliest);
      return rows === 0 ? [] : [`${table}.${column} of ${rows} rows`];
    }),
  );
  db.close();
  return found;
}

const jumps = {
  'eleven years ahead': 11 * 365 * day,
  '4,100 days ahead': 4100 * day,
  'fifty-six years back': -56 * 365 * day,
  'two hours ahead': 2 * hour,
  'two hours back': -2 * hour,
};
const few = { 'an hour': hour };
const durations = thorough ? { '5 s': 5 * second, '15 s': 15 * second, '90 s': 90 * second, ...few } : few;

const isComputed = (rule: InstantRule | undefined) =>
  typeof rule === 'object' && 'leave' in rule && rule.leave.startsWith('computed');

/** Moves every instant of a file, as if a wrong clock had written it. `day` and prices have times at the venue: no clock of ours. */
function shift(path: string, { day, price, ...rules }: InstantRules, ms: number): void {
  const db = new Database(path);
  for (const [table, columns] of Object.entries(rules))
    for (const [column, rule] of Object.entries(columns))
      if (rule !== 'day' && !isComputed(rule)) db.prepare(`UPDATE ${table} SET ${column} = ${column} + ?`).run(ms);
  db.close();
}

const inboxPath = ({ daemon }: VirtualHarness) => daemon.config.mirror.inbox_path;

/** Everything is asked for, so that a lot is read and written from here on. */
function readAll({ daemon }: VirtualHarness): void {
  requestResync(daemon.sync, { resources: [...resyncResources], product_ids: [], from: null, to: null });
}

it.each([
  ['a daemon', (at: Course) => at.live(10 * minute)],
  [
    'a daemon that waits for some when they are repaired',
    (at: Course) => {
      at.harness.sandbox.faults.add({ kind: 'delay', ms: 5 * second, path: '/availability' });
      return at.live(10 * minute);
    },
  ],
  [
    'a resync without one',
    async ({ harness, live }: Course) => {
      const signal = new AbortController().signal;
      await harness.drive(harness.daemon.watch.look(signal));
      await harness.drive(runSyncCycle(harness.daemon.sync, 4, { job_id: null, signal }));
      harness.daemon.watch.observe();
      await live(10 * minute);
    },
  ],
] as const)('a clock that is set back while answers come loses none of them to %s', async (_, live) => {
  const seen: { calls: number; machine?: MachineClock } = { calls: Number.NaN };
  const served = () => {
    seen.calls += 1;
    if (seen.calls === 12) seen.machine?.jump(-20 * minute);
  };
  await using at = await course({ products: 12, served }, 'own');
  // The machine and the time since boot are twenty minutes ahead: nothing contradicts them before the service does.
  at.machine.jumpAll(20 * minute);
  readAll(at.harness);
  await at.live(3 * minute);
  for (const product of at.harness.sandbox.products()) product.price += 100;
  readAll(at.harness);
  Object.assign(seen, { calls: 0, machine: at.machine });
  await live(at);
  expect(seen.calls).toBeGreaterThan(12);
  expect((await at.harness.compare()).first).toEqual([]);
});

describe.each(someOf(Object.entries(jumps)))('a wall clock that jumps %s', (_, jump) => {
  it.each(Object.entries(durations))(
    'for %s leaves everything as the service says, two minutes after it is right again',
    async (_, lasts) => {
      await using at = await course();
      // Across the minute's chores and the hour's forgetting, with calls under way.
      await at.pass(2 * hour - minute - (at.harness.clock.now() % hour));
      await at.live(minute - 3 * second);
      readAll(at.harness);
      at.machine.jump(jump);
      await at.live(lasts);
      expect(at.noticed()).toContain('clock-doubted');
      at.machine.jump(-jump);
      await at.live(2 * minute);
      expect(await at.troubles()).toEqual([]);
    },
  );

  // Two hours back leaves nothing behind that could be seen: what was read then is read again a little earlier.
  if (jump !== -2 * hour)
    it('on a machine whose time since boot jumps with it leaves wrong instants: the checks see them (control)', async () => {
      await using at = await course({}, 'own');
      await at.pass(2 * hour);
      readAll(at.harness);
      at.machine.jumpAll(jump);
      await at.live(90 * second);
      expect(at.wrong()).not.toEqual([]);
    });

  it('at the next start of the machine decides nothing before the service was heard', async () => {
    await using at = await course();
    await at.pass(2 * hour);
    await at.harness.restart({
      meanwhile: async () => {
        at.machine.reboot();
        at.machine.jump(jump);
      },
    });
    await at.live(2 * minute);
    at.machine.jump(-jump);
    await at.live(2 * minute);
    expect(await at.troubles()).toEqual([]);
  });
});

describe('files that were written by a wrong clock', () => {
  it.each(someOf(Object.entries(jumps).filter(([, jump]) => Math.abs(jump) > day)))(
    '(%s) are healed at the next start, and everything is as the service says within two minutes',
    async (_, jump) => {
      await using at = await course();
      await at.pass(2 * hour + minute);
      const [subscription_id, now] = ['a', at.harness.clock.now()];
      const { addresses } = at.harness.daemon.inbox;
      addresses.announced(subscription_id, addresses.current(subscription_id, now), now, day);
      addresses.announced(subscription_id, addresses.begin(subscription_id, now), now, day);
      await at.harness.restart({
        meanwhile: async () => {
          at.machine.reboot();
          const { path } = at.harness.daemon.config.mirror;
          shift(path, mirrorInstants, jump);
          shift(inboxPath(at.harness), inboxInstants, jump);
        },
      });
      await at.live(2 * minute);
      expect(await at.troubles()).toEqual([]);
      for (const { begun_at, until } of at.harness.daemon.inbox.addresses.states()) {
        expect(Math.abs(begun_at - at.harness.clock.now())).toBeLessThan(day);
        expect(until ?? 0).toBeLessThan(now + 2 * day);
      }
    },
  );
});

describe('what is no jump', () => {
  it('a machine that was stopped from outside: its time since boot is behind, and the service says so', async () => {
    await using at = await course();
    await at.live(minute);
    await at.harness.drive(at.harness.clock.sleep(8 * hour));
    at.machine.slept(8 * hour, 'pause');
    await at.live(2 * minute);
    expect(at.harness.log.lines().filter(({ msg }) => `${msg}`.includes('in doubt'))).toHaveLength(1);
    expect(await at.troubles()).toEqual([]);
  });
});
