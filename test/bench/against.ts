import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { openReader } from '../../src/storefront/reader.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import { inDays, type Line, median, optionsOf, processorTime } from './measure.ts';
import { processorMs } from './process.ts';
import { Home, startService } from './stage.ts';

/*
 * What stands here beside another commit, both built: processor time of a fill, of a resync that finds everything
 * unchanged, of `status` and of reads, in rounds of both close together (one first, then the other). A ratio of 1 is as
 * fast as before. `npm run bench -- against REV [--rounds 15] [--products 300] [--large 7500] [--only status]`
 */

const tolerance = 0.05;

interface Side extends Disposable {
  readonly root: string;
  readonly home: Home;
  readonly config: string;
}

type Measure = (side: Side) => Promise<Readonly<Record<string, number>>>;

export async function againstLines(args: readonly string[]): Promise<Line[]> {
  const [commit, rest] = args[0]?.startsWith('-') ? [undefined, args] : [args[0], args.slice(1)];
  const usual = { rounds: 15, products: 300, large: 0, only: '' };
  const { rounds, products, large, only } = optionsOf('against REV', rest, usual);
  if (commit === undefined) throw new Error('name a commit: npm run bench -- against REV');
  const roots = [builtCommit(undefined), builtCommit(commit)] as const;
  const lines = await compare(roots, products, rounds, only || undefined);
  if (large === 0) return lines;
  const more = await compare(roots, large, rounds, 'status');
  return [...lines, ...more.map((line) => ({ ...line, what: `${line.what}, ${large} products` }))];
}

async function compare(
  roots: readonly [string, string],
  products: number,
  rounds: number,
  only: string | undefined,
): Promise<Line[]> {
  await using service = await startService(products);
  using sides = new DisposableStack();
  const measured = new Map<string, { ratios: number[]; times: number[] }>();
  const note = async (pair: readonly [Side, Side], round: number, measure: Measure) => {
    for (const [name, [ours, theirs]] of await inTurn(pair, round, measure)) {
      const known = measured.get(name) ?? { ratios: [], times: [] };
      measured.set(name, { ratios: [...known.ratios, ours / theirs], times: [...known.times, ours] });
    }
  };
  const once = only === 'status' || only === 'reads';
  let filled = null as readonly [Side, Side] | null;
  for (let round = 0; round < (once ? 1 : rounds); round += 1) {
    filled = [sides.use(sideOf(roots[0], service.url)), sides.use(sideOf(roots[1], service.url))];
    await note(filled, round, filling);
  }
  if (once) measured.clear();
  for (let round = 0; round < rounds && filled !== null && only !== 'fill'; round += 1) {
    if (only !== 'reads') await note(filled, round, asking);
    if (only !== 'status') await note(filled, round, reading);
  }
  return [...measured].map(([name, { ratios, times }]) => lineOf(name, ratios, times));
}

/** Ours and theirs of each measure; the one that is first is last in the next round. */
async function inTurn(
  [ours, theirs]: readonly [Side, Side],
  round: number,
  measure: Measure,
): Promise<[string, readonly [number, number]][]> {
  const found = new Map<Side, Readonly<Record<string, number>>>();
  for (const side of round % 2 === 0 ? [ours, theirs] : [theirs, ours]) found.set(side, await measure(side));
  return Object.entries(found.get(ours) ?? {}).map(([name, value]) => [
    name,
    [value, found.get(theirs)?.[name] ?? Number.NaN] as const,
  ]);
}

function lineOf(name: string, ratios: readonly number[], times: readonly number[]): Line {
  const sorted = ratios.toSorted((a, b) => a - b);
  // The order statistics between which the median of all rounds lies in 95 of 100 cases.
  const aside = Math.max(0, Math.floor(ratios.length / 2 - 0.98 * Math.sqrt(ratios.length)));
  const [low = Number.NaN, high = Number.NaN] = [sorted[aside], sorted[ratios.length - 1 - aside]];
  return {
    what: `${name} (processor time)`,
    value: `${median(times).toFixed(1)} ms, ratio ${median(ratios).toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] of ${ratios.length} rounds`,
    target: `≤ ${1 + tolerance}`,
    met: median(ratios) <= 1 + tolerance,
  };
}

function sideOf(root: string, url: string): Side {
  const home = new Home(join(root, 'dist/cli.js'));
  // Another commit may not know every key: as little as possible is said.
  const config = home.config(url, 100_000, { backup: { directory: join(home.cwd, 'backup') } });
  return { root, home, config, [Symbol.dispose]: () => home[Symbol.dispose]() };
}

/** A daemon fills its mirror, and reads everything again, unchanged. */
async function filling({ home, config }: Side): Promise<Record<string, number>> {
  await using daemon = await home.run(config, 'pass ended');
  const pid = daemon.child.pid ?? 0;
  const fill = processorMs(pid, 'own');
  await home.command(config, 'resync', '--all', '--wait');
  return { fill, 'unchanged resync': processorMs(pid, 'own') - fill };
}

const asked = 5;

async function asking({ root, config }: Side): Promise<Record<string, number>> {
  const before = processorMs(process.pid, 'children');
  const args = [join(root, 'dist/cli.js'), '--config', config, 'status', '--json'];
  for (let time = 0; time < asked; time += 1) spawnSync(process.execPath, args, { stdio: 'ignore' });
  return { status: (processorMs(process.pid, 'children') - before) / asked };
}

async function reading({ root, home }: Side): Promise<Record<string, number>> {
  const module = (await import(join(root, 'dist/storefront/reader.js'))) as { openReader: typeof openReader };
  using reader = module.openReader(home.mirror);
  const ids = reader.products({ limit: 40 }).map(({ product_id }) => product_id);
  const read = (times: number) => {
    for (let time = 0; time < times; time += 1) {
      for (const id of ids) {
        reader.product(id);
        reader.calendar(id, { from: inDays(0), to: inDays(91) });
        reader.slots(id, inDays(0));
      }
      reader.exact({ text: 'golden mus' });
    }
  };
  read(5);
  return { reads: processorTime(() => read(30)) };
}
