import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { table } from '../../src/commands/terminal/table.ts';
import { number } from '../../src/kernel/format.ts';
import type { Lived } from './driver.ts';
import { type Plan, plain, planOf } from './plan.ts';
import { plantsStory } from './plants/search.ts';
import { shrink } from './shrink.ts';
import { neverSeen } from './sometimes.ts';
import { type Answer, processEnded, startWorkers } from './workers.ts';
import type { Plant } from './world.ts';

const directory = join(import.meta.dirname, 'kept');

/** The name of the rule that a failure breaks. */
const ruleOf = (failure: string) => failure.slice(0, failure.indexOf(':'));

/** Options of the command line. */
export interface SeedsAsked {
  /** `7`, or `1..1000`. */
  readonly seed?: string;
  readonly seeds?: string;
  readonly minutes?: number;
  readonly days?: number;
  readonly workers?: number;
  readonly replay?: Plan;
  readonly plant?: Plant;
  readonly plants?: string;
  readonly twice?: true;
}

type Say = (line: string) => void;

/** Lives through plans, shrinks and keeps those that fail, and says how often each thing happened. Returns the exit status. */
export async function seedsWorld(asked: SeedsAsked, say: Say): Promise<number> {
  const { seed = '1', minutes = Number.POSITIVE_INFINITY, replay, plant = 'none', days = 7, plants } = asked;
  const until = performance.now() + minutes * 60_000;
  const { workers: count = availableParallelism(), seeds = plants === undefined ? seed : '1..1000' } = asked;
  const all = replay === undefined ? plansOf(seeds, days) : [replay].values();
  if (plants !== undefined) return plantsStory({ plants, plans: [...all], count, until }, say);
  using workers = startWorkers(replay === undefined ? count : 1);
  const sums = { seeds: 0, days: 0, cpu_ms: 0 };
  const sometimes = new Map<string, number>();
  const failed: { readonly plan: Plan; readonly found: Lived }[] = [];
  const lived = async (plan: Plan) => {
    const options = { plant };
    const first = await workers.live(plan, options);
    return asked.twice ? compared(first, await workers.live(plan, { ...options, lag: slow })) : first;
  };
  const oneAfterAnother = async () => {
    for (const plan of all) {
      if (performance.now() > until) return;
      const found = await lived(plan);
      sums.seeds += 1;
      sums.days += plan.setting.days;
      sums.cpu_ms += found.cpu_ms;
      for (const [what, times] of found.sometimes) sometimes.set(what, (sometimes.get(what) ?? 0) + times);
      const isWrong = found.failures.length > 0;
      const took = `${(found.cpu_ms / 1000).toFixed(1)} s, digest ${found.digest}${isWrong ? ', FAILED' : ''}`;
      const lines = [`seed ${plan.seed}: ${plan.setting.days} days, ${plan.events.length} events, ${took}`];
      say([...lines, ...found.failures.map((failure) => `  ${failure}`)].join('\n'));
      if (isWrong) failed.push({ plan, found });
    }
  };
  await Promise.all(Array.from({ length: count }, oneAfterAnother));
  const rows = [...sometimes].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const cells = rows.map(([what, times]) => [what, number(times)]);
  say(`\n${table(['what happened', 'times'], cells)}\n`);
  // Few seeds leave out much.
  const never = sums.seeds < 100 ? '' : `; never: ${neverSeen(sometimes).join(', ') || 'none'}`;
  say(`${rows.length} kinds of events were seen${never}`);
  const named = failed.length === 0 ? '' : `: ${failed.map(({ plan }) => plan.seed).join(', ')}`;
  say(`${number(sums.seeds)} seeds, ${number(sums.days)} virtual days with faults, ${failed.length} failed${named}`);
  if (sums.seeds === 0) return 1;
  const each = sums.cpu_ms / sums.seeds;
  say(`${(each / 1000).toFixed(1)} s of processor each: ${number(Math.round(3_600_000 / each))} an hour on one core`);
  // Last: it may take longer than all that was lived through.
  if (replay === undefined) for (const { plan, found } of failed) await keep(plan, found, { lived, plant, say });
  return failed.length === 0 ? 0 : 1;
}

/** Turns of the event loop: the network of a second run is so slow, each way. */
const slow = 7;

/** What came of a plan, of which another run has to leave the same bytes. */
function compared(first: Answer, second: Answer): Answer {
  const cpu_ms = first.cpu_ms + second.cpu_ms;
  if (first.digest === second.digest) return { ...first, cpu_ms };
  const differing = second.left.filter((line) => !first.left.includes(line));
  const failure = `one seed, one history: the second time ${differing.join(', ')}`;
  return { ...first, cpu_ms, failures: [...first.failures, failure] };
}

/** `7`, or `1..1000`. */
function* plansOf(seeds: string, days: number): Generator<Plan> {
  const [from, to = from] = seeds.split('..').map(Number);
  if (from === undefined || to === undefined || Number.isNaN(from + to)) throw new Error(`no seeds: ${seeds}`);
  for (let seed = from; seed <= to; seed += 1) yield planOf(seed, days);
}

/** A plan that was kept. */
export function readPlan(path: string): Plan {
  const plan = JSON.parse(readFileSync(path, 'utf8')) as Plan;
  if (!Number.isSafeInteger(plan.seed) || !Array.isArray(plan.events))
    throw new Error('it names no seed, or no events');
  // What a plan of an older version does not say is plain.
  return { ...plan, setting: { ...plain, ...plan.setting } };
}

/** Shrinks a plan that failed, and writes what is left beside the others that did: they are replayed by the suite. */
async function keep(
  plan: Plan,
  { failures }: Lived,
  { lived, plant, say }: { lived: (plan: Plan) => Promise<Lived>; plant: Plant; say: Say },
): Promise<void> {
  const rule = ruleOf(failures[0] ?? '');
  let tries = 0;
  const fails = async (candidate: Plan) => {
    tries += 1;
    return (await lived(candidate)).failures.some((failure) => ruleOf(failure) === rule);
  };
  // One that never ends would cost minutes a try.
  const small = failures.some((failure) => failure.startsWith(processEnded)) ? plan : await shrink(plan, fails);
  say(`  seed ${plan.seed} shrunk from ${plan.events.length} to ${small.events.length} events in ${tries} runs:`);
  say(JSON.stringify(small, null, 2).replaceAll(/^/gm, '  '));
  if (plant !== 'none') return;
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${plan.seed}.json`);
  writeFileSync(path, `${JSON.stringify({ rule, ...small }, null, 2)}\n`);
  say(`  written to ${path}: npm run worlds -- --replay ${path} lives through it again`);
}
