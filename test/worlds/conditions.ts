import { metricFamilies } from '../../src/admin/metric-families.ts';
import { renderPage } from '../../src/admin/page/page.ts';
import { instant } from '../../src/clock.ts';
import { createSecret } from '../../src/config/secrets.ts';
import type { ConditionCode } from '../../src/domain/conditions/table.ts';
import { createStorage } from '../../src/files/storage.ts';
import { all, type Habits } from '../../src/sandbox/rough/habits.ts';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { verdictOf } from '../../src/status/verdict.ts';
import { remembered } from '../admin/known-status.ts';
import { alertRules } from '../conditions/documents.ts';
import { canary } from '../fakes/canary.ts';
import { freePort } from '../fakes/free-port.ts';
import { type VirtualHarness, virtualHarness } from '../fakes/virtual-harness.ts';
import { type Planted, planted } from './failures.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

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

async function plantedWorld(
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

function bit(is: boolean): 0 | 1 {
  return is ? 1 : 0;
}

export interface Measured {
  readonly failure: string;
  readonly code: ConditionCode;
  /** Seconds until it is seen on each; null: not within its time. */
  readonly red: Readonly<Record<keyof Seen, number | null>>;
  readonly green: Readonly<Record<keyof Seen, number | null>>;
  readonly within_s: number;
}

/** Plants a failure, mends it, and measures in virtual time when it is seen and gone. Throws where it is seen before. */
export async function measure({
  failure,
  code,
  within_ms,
  mended_ms,
  step_ms,
  fill,
  prepare,
  plant,
}: Planted): Promise<Measured> {
  await using world = await plantedWorld({}, fill === 'endless' ? 'empty' : 'filled');
  await prepare?.(world);
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

/** Every habit, with enough products that send hostile values or no images. */
const habits: Habits = { ...all, hostile_values: 0.3, images_null: 0.3 };

/** What habits bring about of which a person has to know, and why; nothing else is shown. */
export const expected: Partial<Readonly<Record<ConditionCode, string>>> = {
  'images-refused':
    'hostile_values: addresses on private hosts are published by nobody, and only the service can mend them',
  'prices-refused': 'hostile_values: what costs less than nothing is not sold, and only the service can mend it',
  'records-failing': 'list_end: a list without an end shows what is there, and never what is gone',
  'promise-broken':
    'dates: of a service that answers for whole weeks, an answer without a date says nothing about those that were asked for',
};

/** What they bring about once in weeks, for the same reasons. */
const sometimes: readonly ConditionCode[] = ['other-dates'];

export interface Healthy {
  readonly looks: number;
  /** Conditions that were shown although no habit explains them, with what was said. */
  readonly unexpected: readonly string[];
  /** Those that were shown and expected; each of them was. */
  readonly shown: readonly ConditionCode[];
}

/** Lives for days beside a service with every habit, whose products are edited and closed and opened each day. */
export async function healthyDays(days: number, some: Partial<Habits> = {}): Promise<Healthy> {
  await using world = await plantedWorld({ habits: { ...habits, ...some } });
  const { harness } = world;
  const { schedule, wiring, sandbox } = harness;
  for (let each = 0; each < days * 4; each += 1) {
    const ids = world.ids();
    const [edited = 0, closed = 0] = [ids[each % ids.length], ids[(each + 3) % ids.length]];
    sandbox.world.edit(edited, { field: 'description', value: `as of ${each}` });
    sandbox.world.disable(closed);
    await world.live(2 * hour);
    sandbox.world.enable(closed);
    await world.live(day / 4 - 2 * hour);
  }
  const looks = schedule.list().find(({ name }) => name === 'conditions')?.runs ?? 0;
  // A promise's own periods say of which one what the condition says.
  const periods = wiring.inbox.conditions.flips(instant(0)).filter(({ code }) => !code.startsWith('promise:'));
  const codes = new Set(periods.map(({ code }) => code));
  return {
    looks,
    unexpected: periods
      .filter(({ code }) => !Object.hasOwn(expected, code) && !sometimes.some((each) => each === code))
      .map(({ code, says }) => `${code}: ${says}`),
    shown: (Object.keys(expected) as ConditionCode[]).filter((code) => codes.has(code)),
  };
}

interface ConditionsAsked {
  /** Only failures that show these; none: all. */
  readonly codes: readonly string[];
  /** Days beside a healthy service instead; null: failures. */
  readonly healthy: number | null;
}

/** Prints in which time each planted failure is seen and gone. Returns the exit status, or why there is nothing to plant. */
export async function conditionsWorld({ codes, healthy }: ConditionsAsked, say: (line: string) => void) {
  if (healthy !== null) {
    const { looks, unexpected, shown } = await healthyDays(healthy);
    say(`${healthy} days, ${looks} looks, ${unexpected.length} conditions that no quirk explains`);
    for (const each of unexpected) say(each);
    for (const code of shown) say(`expected: ${code} (${expected[code]})`);
    return unexpected.length === 0 ? 0 : 1;
  }
  const known = new Set<string>(planted.map(({ code }) => code));
  const unknown = codes.filter((code) => !known.has(code));
  if (unknown.length > 0) return `nothing is planted that shows ${unknown.join(', ')}: ${[...known].join(', ')}`;
  const cell = (seconds: number | null) => (seconds === null ? 'NEVER' : String(seconds)).padStart(7);
  say(`${'planted'.padEnd(48)} ${'condition'.padEnd(21)} limit   status   page metric  alert   green`);
  let missed = 0;
  for (const each of planted.filter(({ code }) => codes.length === 0 || codes.includes(code))) {
    const { red, green } = await measure(each);
    const gone = Object.values(green).includes(null) ? null : Math.max(...Object.values(green).map(Number));
    missed += Object.values(red).includes(null) || gone === null ? 1 : 0;
    const shown = [red.status, red.page, red.metric, red.alert, gone].map(cell).join('');
    say(`${each.failure.padEnd(48)} ${each.code.padEnd(21)}${String(each.within_ms / second).padStart(6)}  ${shown}`);
  }
  return missed === 0 ? 0 : 1;
}
