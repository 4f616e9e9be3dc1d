import { metricFamilies } from '../../src/admin/metric-families.ts';
import { renderPage } from '../../src/admin/page/page.ts';
import { instant } from '../../src/clock.ts';
import { createSecret } from '../../src/config/secrets.ts';
import type { ConditionCode } from '../../src/domain/conditions/table.ts';
import { createStorage } from '../../src/files/storage.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { verdictOf } from '../../src/status/verdict.ts';
import { requestResync } from '../../src/sync/records/resync.ts';
import { remembered } from '../admin/known-status.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { alertRules } from './documents.ts';

export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** What somebody sees who looks at one moment: 1 where it is red. */
export interface Seen {
  readonly status: 0 | 1;
  readonly page: 0 | 1;
  readonly metric: 0 | 1;
  readonly alert: 0 | 1;
}

/** A daemon on virtual time whose machine, disk and way to the world can be spoilt. */
export interface PlantedWorld extends AsyncDisposable {
  readonly harness: VirtualHarness;
  /** By how much the machine's clock is wrong. */
  readonly machine: { offset_ms: number };
  readonly disk: { full: boolean };
  /** What answers at our public address. */
  readonly address: { result: 'passed' | 'failed'; answered: boolean };
  /** Products on sale. */
  ids(): number[];
  live(ms: number, step?: number): Promise<void>;
  /** How a condition looks now, as itself or as part of its cause. */
  look(code: ConditionCode): Promise<Seen>;
}

class DiskFull extends Error {
  readonly code = 'SQLITE_FULL';
}

export async function plantedWorld(
  options: Partial<SandboxOptions> = {},
  filled: 'filled' | 'empty' = 'filled',
): Promise<PlantedWorld> {
  const port = await freePort();
  const machine = { offset_ms: 0 };
  const disk = { full: false };
  const address: PlantedWorld['address'] = { result: 'passed', answered: true };
  const stack = new AsyncDisposableStack();
  const harness = stack.use(
    await virtualHarness(
      { lean: true, products: 8, hold_ms: 5 * minute, ...options },
      {
        scheduling: 'fixed',
        signing: { body: 'json' },
        receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks` },
        subscriptions: [{ id: 'all', type: 'product_ids', entities: 'mirrored' }],
        backup: { at: null },
      },
      {
        conditions: true,
        secrets: { receiver_secret: createSecret(canary.master) },
        selfTest: async () => ({ ...address, message: 'so it is planted' }),
        machine: (clock) => ({ ...clock, now: () => instant(clock.now() + machine.offset_ms) }),
        rewired: (wiring, life) => {
          const { mirror, inbox, ports } = wiring;
          const touching = (file: typeof mirror | typeof inbox) => ({
            path: file.path,
            waitForLocks: file.waitForLocks,
            touch: () => {
              if (disk.full) throw new DiskFull('database or disk is full');
              file.touch();
            },
          });
          const spaceOf = () => ({ size_bytes: 1e10, free_bytes: disk.full ? 0 : 9e9 });
          const files = { mirror: touching(mirror), inbox: touching(inbox) };
          return { ...wiring, storage: life.use(createStorage({ ...files, ...ports, spaceOf })) };
        },
      },
    ),
  );
  harness.wiring.storage.serve();
  const live = (ms: number, step = minute) => harness.liveUntil(harness.clock.now() + ms, step);
  if (filled === 'filled') {
    await harness.runUntil(() => harness.wiring.mirror.filledAt() !== null);
    await live(10 * minute);
  }
  const closing = stack.move();
  return {
    harness,
    machine,
    disk,
    address,
    ids: () => harness.sandbox.world.visible().flatMap(({ id, status }) => (status === 'available' ? [id] : [])),
    live,
    look: async (code) => {
      const status = await harness.parts.status(0);
      const now = harness.wiring.ports.clock.now();
      const root = status.conditions.find((each) => each.code === code || each.explains.includes(code))?.code ?? code;
      const process = { memory_bytes: 0 } as never;
      const sampled = (name: string, label: string | null) =>
        (metricFamilies.find((family) => family.name === name)?.of({ status, process, now }) ?? []).find(
          ({ labels }) => label === null || labels.code === label,
        )?.value;
      const metric = bit(sampled('catalogued_condition', root) === 1 && sampled('catalogued_true', null) === 0);
      // A rule that waits for nothing fires with its metric.
      const rule =
        alertRules()
          .split('- alert: ')
          .find((each) => each.includes(`{code="${root}"} == 1`)) ?? 'for:';
      return {
        status: bit(verdictOf(status, now).reasons.length > 0 && status.conditions.some((each) => each.code === root)),
        page: bit(
          /class="wide verdict (broken|filling)"/.test(renderPage(status, remembered, now, null)) && metric === 1,
        ),
        metric,
        alert: bit(metric === 1 && !rule.includes('for:')),
      };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const readAll = {
  resources: ['products', 'checkout', 'variants', 'availability'],
  product_ids: [],
  from: null,
  to: null,
} as const;

/** Somebody asks for reads, so that calls are made. */
export function ask({ harness }: PlantedWorld): void {
  requestResync(harness.wiring.ports, readAll);
}

/** Spoils answers until it is mended. */
export function fault(world: PlantedWorld, rule: Parameters<PlantedWorld['harness']['sandbox']['faults']['add']>[0]) {
  const { faults } = world.harness.sandbox;
  faults.add(rule);
  return () => faults.clear();
}

function bit(is: boolean): 0 | 1 {
  return is ? 1 : 0;
}
