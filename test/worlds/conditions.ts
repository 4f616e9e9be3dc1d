import { renderPage } from '../../src/admin/page/page.ts';
import { instant } from '../../src/kernel/clock.ts';
import { all, type Quirks } from '../../src/sandbox/rough/quirks.ts';
import type { ConditionCode } from '../../src/says/conditions/table.rules.ts';
import { metricFamilies } from '../../src/says/metrics/metric-families.ts';
import { verdictOf } from '../../src/says/status/verdict.ts';
import { remembered } from '../admin/known-status.ts';
import { alertRules } from '../says/conditions/documents.ts';
import { onSale, type Planted, planted } from './failures.ts';
import { World } from './world.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Where a condition is red at one moment. */
type Seen = Readonly<Record<'status' | 'page' | 'metric' | 'alert', boolean>>;

async function plantedWorld(quirks: Partial<Quirks>, fill: 'filled' | 'endless' = 'filled'): Promise<World> {
  const world = await World.open({
    seed: 1,
    sandbox: { products: 8, hold_ms: 5 * minute, quirks },
    config: { scheduling: 'fixed', backup: { at: null } },
    conditions: true,
  });
  if (fill === 'filled') {
    await world.harness.runUntil(() => world.harness.isFilled());
    await world.harness.live(10 * minute, minute);
  }
  return world;
}

/** Returns how a condition looks now, as itself or as part of its cause. */
async function look({ harness }: World, code: ConditionCode): Promise<Seen> {
  const status = await harness.daemon.status.shown();
  const now = harness.daemon.sync.clock.now();
  const root = status.conditions.find((each) => each.code === code || each.explains.includes(code))?.code ?? code;
  const process = { memory_bytes: 0 } as never;
  const sampled = (name: string, label: string | null) =>
    (metricFamilies.find((family) => family.name === name)?.of({ status, process, now }) ?? []).find(
      ({ labels }) => label === null || labels.code === label,
    )?.value;
  const metric = sampled('catalogued_condition', root) === 1 && sampled('catalogued_true', null) === 0;
  // A rule that waits for nothing fires with its metric.
  const rules = alertRules().split('- alert: ');
  const waits = rules.find((each) => each.includes(`{code="${root}"} == 1`))?.includes('for:') ?? true;
  const isRed = /class="wide verdict (error|warning)"/.test(
    renderPage(status, remembered, now, { refresh: null, unfolded: true }),
  );
  return {
    status: verdictOf(status, now).reasons.length > 0 && status.conditions.some((each) => each.code === root),
    page: isRed && metric,
    metric,
    alert: metric && !waits,
  };
}

/** Seconds until a condition is seen, or gone, in each place; null: not within its time. */
type Seconds = Readonly<Record<keyof Seen, number | null>>;

export interface Measured {
  readonly red: Seconds;
  readonly green: Seconds;
}

/** Plants a failure, mends it, and measures in virtual time when it is seen and gone. Throws where it is seen before. */
export async function measure({ failure, code, times, ...planted }: Planted): Promise<Measured> {
  const [within_ms, mended_ms, step_ms] = times;
  await using world = await plantedWorld({}, planted.fill);
  await planted.prepare?.(world);
  if (Object.values(await look(world, code)).includes(true)) throw new Error(`${failure}: seen before it is planted`);
  const mend = await planted.plant(world);
  const red = await until(world, code, true, { within_ms, step_ms });
  await mend();
  const green = await until(world, code, false, { within_ms: mended_ms, step_ms });
  return { red, green };
}

async function until(
  world: World,
  code: ConditionCode,
  wanted: boolean,
  { within_ms, step_ms }: { within_ms: number; step_ms: number },
): Promise<Seconds> {
  const found: Record<keyof Seen, number | null> = { status: null, page: null, metric: null, alert: null };
  const { clock } = world.harness;
  const from = clock.now();
  while (Object.values(found).includes(null) && clock.now() - from < within_ms) {
    await world.harness.live(step_ms, step_ms);
    const seen = await look(world, code);
    const after = Math.round((clock.now() - from) / second);
    for (const each of Object.keys(found) as (keyof Seen)[]) if (seen[each] === wanted) found[each] ??= after;
  }
  return found;
}

/** Every quirk, with enough products that send hostile values or no images. */
const quirks: Quirks = { ...all, hostile_values: 0.3, images_null: 0.3 };

/** Conditions that quirks bring about, and why a person has to know of them; nothing else is shown. */
export const expected: Partial<Readonly<Record<ConditionCode, string>>> = {
  'images-refused':
    'hostile_values: addresses on private hosts are published by nobody, and only the service can mend them',
  'prices-refused': 'hostile_values: what costs less than nothing is not sold, and only the service can mend it',
  'records-failing': 'list_end: a list without an end shows what is there, and never what is gone',
  'freshness-missed':
    'dates: of a service that answers for whole weeks, an answer without a date says nothing about those that were asked for',
};

/** Conditions that they bring about once in weeks, for the same reasons. */
const sometimes: readonly ConditionCode[] = ['other-dates'];

export interface Healthy {
  readonly looks: number;
  /** Conditions that were shown although no quirk explains them, with what was said. */
  readonly unexpected: readonly string[];
  /** Those that were shown and expected; each of them was. */
  readonly shown: readonly ConditionCode[];
}

/** Lives for days beside a service with every quirk, whose products are edited and closed and opened each day. */
export async function healthyDays(days: number, some: Partial<Quirks> = {}): Promise<Healthy> {
  await using world = await plantedWorld({ ...quirks, ...some });
  const { harness } = world;
  const { daemon, sandbox } = harness;
  const { schedule } = daemon;
  for (let each = 0; each < days * 4; each += 1) {
    const ids = onSale(world);
    const [edited = 0, closed = 0] = [ids[each % ids.length], ids[(each + 3) % ids.length]];
    sandbox.world.edit(edited, { field: 'description', value: `as of ${each}` });
    sandbox.world.disable(closed);
    await world.harness.live(2 * hour, minute);
    sandbox.world.enable(closed);
    await world.harness.live(day / 4 - 2 * hour, minute);
  }
  const looks = schedule.list().find(({ name }) => name === 'conditions')?.runs ?? 0;
  // A promise's own periods say of which one what the condition says.
  const periods = daemon.inbox.conditions
    .flips({ from: instant(0) })
    .filter(({ code }) => !code.startsWith('freshness:'));
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
    say(`${each.failure.padEnd(48)} ${each.code.padEnd(21)}${String(each.times[0] / second).padStart(6)}  ${shown}`);
  }
  return missed === 0 ? 0 : 1;
}
