import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import type { ConditionCode } from '../../src/domain/conditions/table.ts';
import { plantedFields } from './planted-fields.ts';
import { ask, day, fault, hour, minute, type PlantedWorld, plantedWorld, type Seen, second } from './planted-world.ts';

/** A failure that is planted, and how soon it has to be seen. */
export interface Planted {
  readonly failure: string;
  readonly code: ConditionCode;
  /** Seen by then, and gone by then after it is mended. */
  readonly within_ms: number;
  readonly mended_ms: number;
  /** How exactly it is measured. */
  readonly step_ms: number;
  /** Only with `CATALOGUED_TEST_STRICT=1`: it takes long. */
  readonly long?: true;
  readonly world?: () => Promise<PlantedWorld>;
  /** Plants it, and returns what mends it. */
  plant(world: PlantedWorld): Promise<() => unknown> | (() => unknown);
}

export interface Measured {
  readonly failure: string;
  readonly code: ConditionCode;
  /** Seconds until it is seen on each; null: not within its time. */
  readonly red: Readonly<Record<keyof Seen, number | null>>;
  readonly green: Readonly<Record<keyof Seen, number | null>>;
  readonly within_s: number;
}

/** Counts so many checks with one result. */
function check({ harness, ids }: PlantedWorld, times: number, found: 'right' | 'said-available'): void {
  const of = { product_id: ids()[0] ?? 0, tier: 'near' } as const;
  for (let each = 0; each < times; each += 1) harness.parts.checks.counter.add(of, found);
}

async function livedFor(ms: number): Promise<PlantedWorld> {
  const world = await plantedWorld();
  await world.live(ms, 10 * minute);
  return world;
}

/** Edits announced every two hours for four days: a subscription with a habit. */
async function talkative(): Promise<PlantedWorld> {
  const world = await plantedWorld();
  for (let each = 0; each < 48; each += 1) {
    edit(world, each % 4, `text ${each}`);
    await world.live(2 * hour, 10 * minute);
  }
  return world;
}

function edit({ harness, ids }: PlantedWorld, which: number, value: string): void {
  harness.sandbox.world.edit(ids()[which] ?? 0, { field: 'description', value });
}

export const planted: readonly Planted[] = [
  {
    failure: 'the service is cut with nothing due',
    code: 'service-unreachable',
    within_ms: 2 * minute,
    mended_ms: 4 * minute,
    step_ms: 5 * second,
    plant: async ({ harness }) => {
      await harness.sandbox.setReachable('no');
      return () => harness.sandbox.setReachable('yes');
    },
  },
  {
    failure: 'the key is revoked (from the next call on)',
    code: 'key-refused',
    within_ms: 2 * minute,
    mended_ms: hour + 5 * minute,
    step_ms: 5 * second,
    plant: (world) => {
      const mend = fault(world, { kind: 'status', status: 401, body: '{"message":"revoked"}' });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'the disk is full',
    code: 'disk-full',
    within_ms: minute,
    mended_ms: 2 * minute,
    step_ms: 5 * second,
    plant: ({ disk, harness }) => {
      disk.full = true;
      harness.wiring.storage.noticed(Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' }));
      return () => {
        disk.full = false;
      };
    },
  },
  {
    failure: 'another program holds the write lock',
    code: 'file-locked',
    within_ms: 2 * minute,
    mended_ms: minute,
    step_ms: 5 * second,
    plant: (world) => {
      const db = new Database(world.harness.wiring.mirror.path);
      db.exec('BEGIN IMMEDIATE');
      writeSomething(world);
      return () => void db.close();
    },
  },
  {
    failure: 'somebody closes the directory of the mirror to its group',
    code: 'readers-shut-out',
    within_ms: 2 * minute,
    mended_ms: 2 * minute,
    step_ms: 5 * second,
    plant: ({ harness }) => {
      const directory = dirname(harness.wiring.mirror.path);
      const { mode } = statSync(directory);
      chmodSync(directory, 0o700);
      return () => chmodSync(directory, mode & 0o7777);
    },
  },
  {
    failure: 'the clock is two hours off',
    code: 'clock-doubted',
    within_ms: 15 * minute,
    mended_ms: 5 * minute,
    step_ms: 5 * second,
    plant: ({ machine }) => {
      machine.offset_ms = 2 * hour;
      return () => {
        machine.offset_ms = 0;
      };
    },
  },
  {
    failure: 'another program answers at our public address',
    code: 'receiver-unreachable',
    within_ms: 31 * minute,
    mended_ms: 16 * minute,
    step_ms: minute,
    plant: ({ address }) => {
      Object.assign(address, { result: 'failed', answered: true });
      return () => Object.assign(address, { result: 'passed' });
    },
  },
  {
    failure: 'reads stay as they were after an announced edit',
    code: 'changes-not-shown',
    within_ms: hour,
    mended_ms: 15 * minute,
    step_ms: minute,
    // What the fill has read was new, and would pass for what was announced.
    world: () => livedFor(2 * hour),
    plant: (world) => {
      world.harness.sandbox.setHabits({ cached_ms: 10 * day });
      edit(world, 0, 'what no read shows');
      return () => {
        world.harness.sandbox.setHabits({ cached_ms: 0 });
        ask(world);
      };
    },
  },
  ...plantedFields,
  {
    failure: 'nothing is read although calls are made',
    code: 'no-progress',
    within_ms: hour,
    mended_ms: 5 * minute,
    step_ms: minute,
    plant: (world) => {
      const mend = fault(world, { kind: 'success-false' });
      ask(world);
      return () => {
        mend();
        // By themselves they would be tried once a day by now.
        ask(world);
      };
    },
  },
  {
    failure: 'a first fill does not end',
    code: 'fill-endless',
    within_ms: 2 * hour,
    mended_ms: day,
    step_ms: 5 * minute,
    world: () => plantedWorld({}, 'empty'),
    // What is throttled has not failed, and stays due.
    plant: (world) => fault(world, { kind: 'status', status: 429, path: `/products/${world.ids()[0]}/` }),
  },
  {
    failure: 'the list leaves out half of what it counts',
    code: 'list-incomplete',
    within_ms: 3 * minute,
    mended_ms: hour,
    step_ms: 10 * second,
    plant: (world) => {
      const mend = fault(world, { kind: 'fewer-rows', path: '^/v2/products\\?', rows: 4 });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'the mirror is wrong at checkout, 2 in 100',
    code: 'often-wrong',
    within_ms: 2 * minute,
    mended_ms: 2 * minute,
    step_ms: 5 * second,
    plant: (world) => {
      check(world, 20, 'said-available');
      check(world, 980, 'right');
      return () => check(world, 1_000, 'right');
    },
  },
  {
    failure: 'one product fails',
    code: 'records-failing',
    within_ms: 5 * day,
    mended_ms: 2 * day,
    step_ms: 30 * minute,
    long: true,
    plant: (world) => {
      const mend = fault(world, { kind: 'status', status: 500, path: `/products/${world.ids()[0]}/` });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'a subscription falls silent',
    code: 'subscription-mute',
    within_ms: day,
    mended_ms: 3 * hour,
    step_ms: 10 * minute,
    long: true,
    world: talkative,
    plant: (world) => {
      world.harness.sandbox.setSending('all', 'none');
      return () => {
        world.harness.sandbox.setSending('all', 'all');
        edit(world, 5, 'heard again');
      };
    },
  },
];

function writeSomething(world: PlantedWorld): void {
  // The lock is met by the next write.
  world.harness.wiring.storage.soon('planted', () => world.harness.wiring.mirror.touch());
}

/** Plants a failure, mends it, and measures in virtual time when it is seen and gone. Throws where it is seen before. */
export async function measure({
  failure,
  code,
  within_ms,
  mended_ms,
  step_ms,
  world: make = plantedWorld,
  plant,
}: Planted): Promise<Measured> {
  await using world = await make();
  const before = await world.look(code);
  if (Object.values(before).some((red) => red === 1)) throw new Error(`${failure}: seen before it is planted`);
  const mend = await plant(world);
  const red = await until(world, code, 1, { within_ms, step_ms });
  await mend();
  const green = await until(world, code, 0, { within_ms: mended_ms, step_ms });
  return { failure, code, red, green, within_s: within_ms / second };
}

async function until(
  world: PlantedWorld,
  code: ConditionCode,
  wanted: 0 | 1,
  { within_ms, step_ms }: { within_ms: number; step_ms: number },
): Promise<Measured['red']> {
  const found: Record<keyof Seen, number | null> = { status: null, page: null, metric: null, alert: null };
  const from = world.harness.clock.now();
  const left = () => Object.values(found).includes(null) && world.harness.clock.now() - from < within_ms;
  while (left()) {
    await world.live(step_ms, step_ms);
    const seen = await world.look(code);
    const after = Math.round((world.harness.clock.now() - from) / second);
    for (const each of Object.keys(found) as (keyof Seen)[]) if (seen[each] === wanted) found[each] ??= after;
  }
  return found;
}
