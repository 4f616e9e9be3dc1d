import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import type { ConditionCode } from '../../src/domain/conditions/table.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import type { PlantedWorld } from './conditions.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

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
  /** `endless`: it is planted before the mirror is filled. */
  readonly fill?: 'endless';
  /** What has to have happened before. */
  prepare?(world: PlantedWorld): Promise<void>;
  /** Plants it, and returns what mends it. */
  plant(world: PlantedWorld): Promise<() => unknown> | (() => unknown);
}

const readAll = {
  resources: ['products', 'checkout', 'variants', 'availability'],
  product_ids: [],
  from: null,
  to: null,
} as const;

/** Somebody asks for reads, so that calls are made. */
function ask({ harness }: PlantedWorld): void {
  requestResync(harness.wiring.ports, readAll);
}

/** Spoils answers until it is mended. */
function fault(world: PlantedWorld, rule: Parameters<PlantedWorld['harness']['sandbox']['faults']['add']>[0]) {
  const { faults } = world.harness.sandbox;
  faults.add(rule);
  return () => faults.clear();
}

/** Counts so many checks with one result. */
function check({ harness, ids }: PlantedWorld, times: number, found: 'right' | 'said-available'): void {
  const of = { product_id: ids()[0] ?? 0, tier: 'near' } as const;
  for (let each = 0; each < times; each += 1) harness.parts.checks.counter.add(of, found);
}

/** Edits announced every two hours for four days: a subscription with a habit. */
async function announceOften(world: PlantedWorld): Promise<void> {
  for (let each = 0; each < 48; each += 1) {
    edit(world, each % 4, `text ${each}`);
    await world.live(2 * hour, 10 * minute);
  }
}

function edit({ harness, ids }: PlantedWorld, which: number, value: string): void {
  harness.sandbox.world.edit(ids()[which] ?? 0, { field: 'description', value });
}

/** A resync reads all again, so that it is not the cadence that is measured. */
function withoutMember(member: string): Planted['plant'] {
  return (world) => {
    const mend = fault(world, { kind: 'without', member });
    ask(world);
    return () => {
      mend();
      ask(world);
    };
  };
}

const gone = {
  code: 'fields-gone',
  within_ms: 20 * minute,
  mended_ms: 20 * minute,
  step_ms: minute,
} as const;

/** Members that the service stops sending. */
const plantedFields: readonly Planted[] = [
  { ...gone, failure: 'the sale status is gone from the answers', plant: withoutMember('sale_status') },
  {
    ...gone,
    failure: 'the prices of dates are gone from the answers',
    plant: withoutMember('total_retail_price_incl_vat'),
  },
  {
    ...gone,
    failure: 'images are gone from the answers',
    // Since the fill, the products' own reads are what confirms them.
    prepare: (world) => {
      ask(world);
      return world.live(20 * minute);
    },
    plant: withoutMember('images'),
  },
];

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
    prepare: (world) => world.live(2 * hour, 10 * minute),
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
    fill: 'endless',
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
    prepare: announceOften,
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
