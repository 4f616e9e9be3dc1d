import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../../src/commands/terminal/table.ts';
import { number } from '../../src/format.ts';
import type { Plant } from './house.ts';
import { type Lived, live } from './live.ts';
import { type Plan, plain, planOf } from './plan.ts';
import { shrink } from './shrink.ts';
import { neverSeen } from './sometimes.ts';

const directory = join(import.meta.dirname, 'kept');

/** The name of the rule that a failure breaks. */
const ruleOf = (failure: string) => failure.slice(0, failure.indexOf(':'));

/** What was said on the command line: `--seed 7`, `--seeds 1..1000`, `--minutes 60`, `--replay FILE`, `--plant NAME`. */
export interface SeedsAsked {
  readonly seed?: unknown;
  readonly seeds?: unknown;
  readonly minutes?: unknown;
  readonly replay?: unknown;
  readonly plant?: unknown;
}

/** Lives through plans, shrinks and keeps those that fail, and says how often each thing happened. Returns the exit status. */
export async function seedsStory(asked: SeedsAsked, say: (line: string) => void): Promise<number> {
  const { seed = '1', seeds = seed, minutes = Number.POSITIVE_INFINITY, replay, plant = 'none' } = asked;
  const until = performance.now() + Number(minutes) * 60_000;
  const all = replay === undefined ? plansOf(String(seeds)) : [readPlan(String(replay))];
  const sometimes = new Map<string, number>();
  const failed: number[] = [];
  let lived = 0;
  let days = 0;
  for (const plan of all) {
    if (performance.now() > until) break;
    const began = process.cpuUsage();
    const found = await live(plan, { plant: plant as Plant });
    const { user, system } = process.cpuUsage(began);
    lived += 1;
    days += plan.setting.days;
    for (const [what, times] of found.sometimes) sometimes.set(what, (sometimes.get(what) ?? 0) + times);
    const { length } = found.failures;
    say(
      `seed ${plan.seed}: ${plan.setting.days} days, ${plan.events.length} events, ${((user + system) / 1e6).toFixed(1)} s, digest ${found.digest}${length === 0 ? '' : ', FAILED'}`,
    );
    for (const failure of found.failures) say(`  ${failure}`);
    if (length === 0) continue;
    failed.push(plan.seed);
    if (replay === undefined) await keep(plan, found, plant as Plant, say);
  }
  const rows = [...sometimes].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const cells = rows.map(([what, times]) => [what, number(times)]);
  say(`\n${table(['what happened', 'times'], cells)}\n`);
  say(`${rows.length} kinds of happenings were seen; never: ${neverSeen(sometimes).join(', ') || 'none'}`);
  const named = failed.length === 0 ? '' : `: ${failed.join(', ')}`;
  say(`${number(lived)} seeds, ${number(days)} virtual days with faults, ${failed.length} failed${named}`);
  return failed.length === 0 ? 0 : 1;
}

/** `7`, or `1..1000`. */
function* plansOf(seeds: string): Iterable<Plan> {
  const [from, to = from] = seeds.split('..').map(Number);
  if (from === undefined || to === undefined || Number.isNaN(from + to)) throw new Error(`no seeds: ${seeds}`);
  for (let seed = from; seed <= to; seed += 1) yield planOf(seed);
}

/** A plan that was kept. */
export function readPlan(path: string): Plan {
  const plan = JSON.parse(readFileSync(path, 'utf8')) as Plan;
  // What a plan of an older version does not say is plain.
  return { ...plan, setting: { ...plain, ...plan.setting } };
}

/** Shrinks a plan that failed, and writes what is left beside the others that did: they are replayed by the suite. */
async function keep(plan: Plan, { failures }: Lived, plant: Plant, say: (line: string) => void): Promise<void> {
  const rule = ruleOf(failures[0] ?? '');
  let tries = 0;
  const small = await shrink(plan, async (candidate) => {
    tries += 1;
    return (await live(candidate, { plant })).failures.some((failure) => ruleOf(failure) === rule);
  });
  say(`  shrunk from ${plan.events.length} to ${small.events.length} events in ${tries} runs:`);
  say(JSON.stringify(small, null, 2).replaceAll(/^/gm, '  '));
  if (plant !== 'none') return;
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${plan.seed}.json`);
  writeFileSync(path, `${JSON.stringify({ rule, ...small }, null, 2)}\n`);
  say(`  written to ${path}: npm run simulate -- --replay ${path} lives through it again`);
}
