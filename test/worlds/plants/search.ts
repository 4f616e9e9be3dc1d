import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { table } from '../../../src/commands/terminal/table.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import type { Plan } from '../plan.ts';
import { shrink } from '../shrink.ts';
import { processEnded, startWorkers, type Workers } from '../workers.ts';
import { plants } from './table.ts';

const root = join(import.meta.dirname, '..', '..', '..');

interface PlantsAsked {
  /** `all`, or numbers with commas between. */
  readonly plants: string;
  readonly plans: readonly Plan[];
  /** How many processes. */
  readonly count: number;
  /** On the clock of `performance`: no world is begun after it. */
  readonly until: number;
}

/**
 * Puts each old fault back on a copy of the sources, lives through plans until one fails that does not without it, and
 * shrinks that one. Returns the exit status: 1 if one was not found.
 */
export async function plantsStory({ plants: wanted, plans, count, until }: PlantsAsked, say: (line: string) => void) {
  const numbers = wanted === 'all' ? Object.keys(plants) : wanted.split(',');
  const rows: string[][] = [];
  for (const point of numbers) {
    using scratch = temporaryDirectory();
    const what = plantedAt(scratch.path, point);
    using honest = startWorkers(1);
    using broken = startWorkers(count, scratch.path);
    const { found, all } = await search(plans, { honest, broken, count, until });
    if (found === null) {
      rows.push([point, what, 'not found', `${all}`, '', '']);
      continue;
    }
    const { plan, failure, tried } = found;
    const rule = failure.slice(0, failure.indexOf(':'));
    const fails = async (candidate: Plan) =>
      (await broken.live(candidate)).failures.some((each) => each.startsWith(rule)) &&
      (await honest.live(candidate)).failures.length === 0;
    const small = await shrink(plan, fails);
    say(`point ${point}, ${what}: seed ${plan.seed}\n  ${failure}\n${JSON.stringify(small, null, 2)}`);
    const lengths = `${plan.events.length} to ${small.events.length}`;
    rows.push([
      point,
      what,
      `seed ${plan.seed}`,
      `${tried}`,
      lengths,
      small.events.map((each) => each.what).join(', '),
    ]);
  }
  say(`\n${table(['point', 'put back', 'found by', 'seeds', 'events', 'what is left of them'], rows)}`);
  return rows.some(([, , by]) => by === 'not found') ? 1 : 0;
}

const saysOnce = (text: string, line: string) => text.split(line).length === 2;

/** Returns the lines that faults are put back in place of, and that are not in their files any more, or twice. */
export function lostLines(of = plants): readonly string[] {
  return Object.values(of).flatMap(({ edits }) =>
    edits.flatMap(({ file, is }) => (saysOnce(readFileSync(join(root, file), 'utf8'), is) ? [] : [`${file}: ${is}`])),
  );
}

/** Copies the sources, and puts a fault back. */
function plantedAt(path: string, point: string): string {
  const plant = plants[point];
  if (plant === undefined) throw new Error(`no plant ${point}: there are ${Object.keys(plants).join(', ')}`);
  for (const name of ['src', 'test', 'schema', 'package.json'])
    cpSync(join(root, name), join(path, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'));
  for (const { file, is, was } of plant.edits) {
    const text = readFileSync(join(path, file), 'utf8');
    if (!saysOnce(text, is)) throw new Error(`point ${point}: ${file} does not say once: ${is}`);
    writeFileSync(
      join(path, file),
      text.replace(is, () => was),
    );
  }
  return plant.what;
}

/** Several processes live at once: of those that fail, the lowest seed counts. */
async function search(
  plans: readonly Plan[],
  { honest, broken, count, until }: { honest: Workers; broken: Workers; count: number; until: number },
) {
  const found: { plan: Plan; failure: string; tried: number }[] = [];
  const rest = plans.entries();
  let all = 0;
  const oneAfterAnother = async () => {
    for (const [index, plan] of rest) {
      if (found.length > 0 || performance.now() > until) return;
      all += 1;
      const [failure] = (await broken.live(plan)).failures;
      if (failure?.startsWith(processEnded) && !(await lives(broken, plan)))
        throw new Error(`seed ${plan.seed}: ${failure}`);
      if (failure === undefined || (await honest.live(plan)).failures.length > 0) continue;
      found.push({ plan, failure, tried: index + 1 });
    }
  };
  await Promise.all(Array.from({ length: count }, oneAfterAnother));
  return { found: found.toSorted((one, other) => one.tried - other.tried)[0] ?? null, all };
}

/** A copy that does not even start shows nothing. */
async function lives(copy: Workers, plan: Plan): Promise<boolean> {
  const { failures } = await copy.live({ ...plan, events: [] });
  return !failures.some((each) => each.startsWith(processEnded));
}
