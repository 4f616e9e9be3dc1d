import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { requestResync } from '../../src/cycle/request-resync.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import { plantZones } from '../fakes/zone-files.ts';
import { plentyBytes, type World } from './world.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A failure that is planted, and how soon it has to be seen. */
export interface Planted {
  readonly failure: string;
  readonly code: ConditionCode;
  /** By when it is seen, by when it is gone after it is mended, and how exactly both are measured; milliseconds. */
  readonly times: readonly [within_ms: number, mended_ms: number, step_ms: number];
  /** `endless`: it is planted before the mirror is filled. */
  readonly fill?: 'endless';
  /** What has to have happened before. */
  prepare?(world: World): Promise<void>;
  /** Plants it, and returns what mends it. */
  plant(world: World): Promise<() => unknown> | (() => unknown);
}

const readAll = {
  resources: ['products', 'checkout', 'variants', 'availability'],
  product_ids: [],
  from: null,
  to: null,
} as const;

/** Returns the products on sale. */
export function onSale({ harness }: World): number[] {
  return harness.sandbox.world.visible().flatMap(({ id, status }) => (status === 'available' ? [id] : []));
}

/** Somebody asks for reads, so that calls are made. */
function ask({ harness }: World): void {
  requestResync(harness.daemon.sync, readAll);
}

/** Spoils answers until it is mended. */
function fault(world: World, rule: Parameters<World['harness']['sandbox']['faults']['add']>[0]) {
  const { faults } = world.harness.sandbox;
  faults.add(rule);
  return () => faults.clear();
}

/** Counts so many checks with one result. */
function check(world: World, times: number, found: 'right' | 'said-available'): void {
  const of = { product_id: onSale(world)[0] ?? 0, tier: 'near' } as const;
  for (let each = 0; each < times; each += 1) world.harness.daemon.checks.counter.add(of, found);
}

/** Edits announced every two hours for four days: a subscription with a quirk. */
async function announceOften(world: World): Promise<void> {
  for (let each = 0; each < 48; each += 1) {
    edit(world, each % 4, `text ${each}`);
    await world.harness.live(2 * hour, 10 * minute);
  }
}

function edit(world: World, which: number, value: string): void {
  world.harness.sandbox.world.edit(onSale(world)[which] ?? 0, { field: 'description', value });
}

/** Sends a body to the callback address of the first subscription. */
async function deliver({ harness }: World, body: unknown): Promise<void> {
  const url = harness.sandbox.subscriptions()[0]?.callback_url;
  if (url === undefined) throw new Error('there is no subscription');
  await fetch(url, { method: 'POST', body: JSON.stringify(body) });
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

/** A member that the service spells otherwise from now on, in all answers. */
function respelt(rule: {
  readonly path: string;
  readonly member: string;
  as?: string;
  body?: string;
}): Planted['plant'] {
  return (world) => {
    const mend = fault(world, { kind: 'respelt', ...rule });
    ask(world);
    return async () => {
      mend();
      // A walk ends what was noted before it began.
      await world.harness.live(second, second);
      ask(world);
    };
  };
}

const held = {
  code: 'held',
  times: [20 * minute, 20 * minute, minute],
} as const;

/** Members that the service stops sending, of most products at once. */
const plantedClaims: readonly Planted[] = [
  { ...held, failure: 'the sale status is gone from the answers', plant: withoutMember('sale_status') },
  {
    ...held,
    failure: 'the prices of dates are gone from the answers',
    plant: withoutMember('total_retail_price_incl_vat'),
  },
  {
    ...held,
    failure: 'all dates are gone from the answers',
    plant: (world) => {
      const body = '{"success":true,"sales_enabled":true,"dates":[],"variants":[],"groups":[]}';
      const mend = fault(world, { kind: 'status', status: 200, path: '/availability', body });
      ask(world);
      return () => {
        mend();
        ask(world);
      };
    },
  },
];

export const planted: readonly Planted[] = [
  {
    failure: 'the service is cut with nothing due',
    code: 'service-unreachable',
    times: [2 * minute, 4 * minute, 5 * second],
    plant: async ({ harness }) => {
      await harness.sandbox.setReachable('no');
      return () => harness.sandbox.setReachable('yes');
    },
  },
  {
    failure: 'the key is revoked (from the next call on)',
    code: 'key-refused',
    times: [2 * minute, hour + 5 * minute, 5 * second],
    plant: (world) => {
      const mend = fault(world, { kind: 'status', status: 401, body: '{"message":"revoked"}' });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'the key may no longer read variants',
    code: 'not-for-this-key',
    times: [5 * minute, 20 * minute, 15 * second],
    plant: (world) => {
      const mend = fault(world, { kind: 'status', status: 401, path: '/product-variants', body: '{"message":"no"}' });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'the disk is full',
    code: 'disk-full',
    times: [minute, 2 * minute, 5 * second],
    plant: ({ disk, harness }) => {
      Object.assign(disk, { full: true, free_bytes: 0 });
      harness.daemon.writer.soon('planted', () => {
        if (disk.full) throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
      });
      return () => Object.assign(disk, { full: false, free_bytes: plentyBytes });
    },
  },
  {
    failure: 'another program holds the write lock',
    code: 'file-locked',
    times: [2 * minute, minute, 5 * second],
    plant: (world) => {
      const db = new Database(world.harness.daemon.config.mirror.path);
      db.exec('BEGIN IMMEDIATE');
      writeSomething(world);
      return () => void db.close();
    },
  },
  {
    failure: 'somebody closes the directory of the mirror to its group',
    code: 'readers-shut-out',
    times: [2 * minute, 2 * minute, 5 * second],
    plant: ({ harness }) => {
      const directory = dirname(harness.daemon.config.mirror.path);
      const { mode } = statSync(directory);
      chmodSync(directory, 0o700);
      return () => chmodSync(directory, mode & 0o7777);
    },
  },
  {
    failure: 'the clock is two hours off',
    code: 'clock-doubted',
    times: [15 * minute, 5 * minute, 5 * second],
    plant: ({ machine }) => {
      machine.jump(2 * hour);
      return () => machine.jump(-2 * hour);
    },
  },
  {
    failure: 'the zone files of the machine are newer, and set the clocks of a zone otherwise',
    code: 'zone-rules-differ',
    times: [hour + minute, hour + minute, minute],
    plant: ({ harness, zones }) => {
      const [{ timezone } = { timezone: 'UTC' }] = harness.daemon.mirror.catalogue.zones.inUse();
      plantZones(zones, '2026f', { [timezone]: { first: 0, changes: [], footer: '<+0130>-1:30' } });
      return () => plantZones(zones, '2026f', {});
    },
  },
  {
    failure: 'another program answers at our public address',
    code: 'receiver-unreachable',
    times: [31 * minute, 16 * minute, minute],
    plant: ({ proxy }) => {
      proxy.refuses = true;
      return () => Object.assign(proxy, { refuses: false });
    },
  },
  {
    failure: 'reads stay as they were after an announced edit',
    code: 'changes-not-shown',
    times: [hour, 15 * minute, minute],
    // What the fill has read was new, and would pass for what was announced.
    prepare: (world) => world.harness.live(2 * hour, 10 * minute),
    plant: (world) => {
      world.harness.sandbox.setQuirks({ cached_ms: 10 * day });
      edit(world, 0, 'what no read shows');
      return () => {
        world.harness.sandbox.setQuirks({ cached_ms: 0 });
        ask(world);
      };
    },
  },
  {
    failure: 'the service answers for other dates than were asked for',
    code: 'other-dates',
    times: [20 * minute, 20 * minute, minute],
    plant: (world) => {
      world.harness.sandbox.setQuirks({ dates: 'ignored' });
      ask(world);
      return () => {
        world.harness.sandbox.setQuirks({ dates: 'honoured' });
        ask(world);
      };
    },
  },
  ...plantedClaims,
  {
    failure: 'the places left are written in words',
    code: 'members-unreadable',
    times: [20 * minute, hour, minute],
    plant: respelt({ path: '/availability', member: 'dates[].availability', body: '"many"' }),
  },
  {
    failure: 'image addresses end before the next read',
    code: 'images-expire',
    times: [20 * minute, hour, minute],
    plant: respelt({ path: '/products', member: 'images[].large', as: 'signed' }),
  },
  {
    failure: 'nothing is read although calls are made',
    code: 'no-progress',
    times: [hour, 5 * minute, minute],
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
    times: [2 * hour, day, 5 * minute],
    fill: 'endless',
    // What is throttled with all others has not failed, and stays due.
    plant: (world) => fault(world, { kind: 'status', status: 429, path: '/products/\\d+/' }),
  },
  {
    failure: 'the list leaves out half of what it counts',
    code: 'list-incomplete',
    times: [3 * minute, hour, 10 * second],
    plant: (world) => {
      const mend = fault(world, { kind: 'fewer-rows', path: '^/v2/products\\?', rows: 4 });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'the mirror is wrong at checkout, 3 in 100',
    code: 'often-wrong',
    times: [2 * minute, 2 * minute, 5 * second],
    plant: (world) => {
      check(world, 40, 'said-available');
      check(world, 1_960, 'right');
      return () => check(world, 2_000, 'right');
    },
  },
  {
    failure: 'one product fails',
    code: 'records-failing',
    times: [5 * day, 2 * day, 30 * minute],
    plant: (world) => {
      const mend = fault(world, { kind: 'status', status: 500, path: `/products/${onSale(world)[0]}/` });
      ask(world);
      return mend;
    },
  },
  {
    failure: 'three deliveries that nobody understands',
    code: 'deliveries-not-understood',
    times: [2 * minute, 2 * minute, 5 * second],
    plant: async (world) => {
      for (let each = 0; each < 3; each += 1) await deliver(world, { event: 'ping' });
      return () => deliver(world, { product_ids: onSale(world).slice(0, 1) });
    },
  },
  {
    failure: 'a subscription falls silent',
    code: 'subscription-mute',
    times: [day, 3 * hour, 10 * minute],
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

function writeSomething(world: World): void {
  // The lock is met by the next write.
  world.harness.daemon.writer.soon('planted', () => world.harness.daemon.mirror.touch());
}
