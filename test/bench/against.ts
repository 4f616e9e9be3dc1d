import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { openReader } from '../../src/storefront/reader.ts';
import { builtCommit } from '../fakes/built-commit.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Line, median } from './line.ts';
import { optionsOf } from './options.ts';
import { processorMs, said } from './process.ts';

/*
 * What stands here beside another commit, both built: processor time of a fill, of a resync that finds everything
 * unchanged, of `status` and of reads, in rounds of both close together (one first, then the other). A ratio of 1 is as
 * fast as before. `npm run bench -- against REV [--rounds 15] [--products 300] [--large 7500] [--only status]`
 */

const tolerance = 0.05;

interface Side {
  readonly root: string;
  readonly directory: string;
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
  const port = await freePort();
  const sandbox = spawn(
    process.execPath,
    [cliOf(roots[0]), 'sandbox', '--products', String(products), '--port', String(port), '--hold', '0s'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const directories = new DisposableStack();
  try {
    await said(sandbox.stdout, 'The sandbox serves');
    const ratios = new Map<string, number[]>();
    const times = new Map<string, number[]>();
    const note = (name: string, [ours, theirs]: readonly [number, number]) => {
      ratios.set(name, [...(ratios.get(name) ?? []), ours / theirs]);
      times.set(name, [...(times.get(name) ?? []), ours]);
    };
    const once = only === 'status' || only === 'reads';
    let filled = null as readonly [Side, Side] | null;
    for (let round = 0; round < (once ? 1 : rounds); round += 1) {
      const sides = roots.map((root) => sideOf(root, port, directories)) as unknown as readonly [Side, Side];
      const found = await inTurn(sides, round, filling);
      for (const [name, pair] of found) if (!once) note(name, pair);
      filled = sides;
    }
    if (filled === null || only === 'fill') return linesOf(ratios, times);
    for (let round = 0; round < rounds; round += 1) {
      if (only !== 'reads') for (const [name, pair] of await inTurn(filled, round, asking)) note(name, pair);
      if (only !== 'status') for (const [name, pair] of await inTurn(filled, round, reading)) note(name, pair);
    }
    return linesOf(ratios, times);
  } finally {
    sandbox.kill('SIGTERM');
    directories.dispose();
  }
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

function linesOf(
  ratios: ReadonlyMap<string, readonly number[]>,
  times: ReadonlyMap<string, readonly number[]>,
): Line[] {
  return [...ratios].map(([name, all]) => {
    const sorted = all.toSorted((a, b) => a - b);
    // The order statistics between which the median of all rounds lies in 95 of 100 cases.
    const aside = Math.max(0, Math.floor(all.length / 2 - 0.98 * Math.sqrt(all.length)));
    const [low = Number.NaN, high = Number.NaN] = [sorted[aside], sorted[all.length - 1 - aside]];
    return {
      what: `${name} (processor time)`,
      value: `${median(times.get(name) ?? []).toFixed(1)} ms, ratio ${median(all).toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}] of ${all.length} rounds`,
      target: `≤ ${1 + tolerance}`,
      met: median(all) <= 1 + tolerance,
    };
  });
}

function cliOf(root: string): string {
  return join(root, 'dist/cli.js');
}

function sideOf(root: string, port: number, stack: DisposableStack): Side {
  const { path: directory } = stack.use(temporaryDirectory());
  const config = join(directory, 'catalogued.yaml');
  // Another commit may not know every key: as little as possible is said.
  const backup = { directory: join(directory, 'backup') };
  writeFileSync(config, testConfigText(directory, `http://127.0.0.1:${port}`, { backup }));
  return { root, directory, config };
}

/** A daemon fills its mirror, and reads everything again, unchanged. */
async function filling({ root, directory, config }: Side): Promise<Record<string, number>> {
  const daemon = spawn(process.execPath, [cliOf(root), '--config', config, 'run'], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise((resolve) => daemon.once('exit', resolve));
  try {
    await said(daemon.stdout, 'pass ended');
    const fill = processorMs(daemon.pid ?? 0, 'own');
    await run(root, config, ['resync', '--all', '--wait']);
    return { fill, 'unchanged resync': processorMs(daemon.pid ?? 0, 'own') - fill };
  } finally {
    daemon.kill('SIGTERM');
    await ended;
  }
}

const asked = 5;

async function asking({ root, config }: Side): Promise<Record<string, number>> {
  const before = processorMs(process.pid, 'children');
  for (let time = 0; time < asked; time += 1)
    spawnSync(process.execPath, [cliOf(root), '--config', config, 'status', '--json'], { stdio: 'ignore' });
  return { status: (processorMs(process.pid, 'children') - before) / asked };
}

async function reading({ root, directory }: Side): Promise<Record<string, number>> {
  const module = (await import(join(root, 'dist/storefront/reader.js'))) as { openReader: typeof openReader };
  using reader = module.openReader(join(directory, 'mirror', 'mirror.db'));
  const ids = reader.products({ limit: 40 }).map(({ product_id }) => product_id);
  const from = new Date().toISOString().slice(0, 10);
  const to = new Date(Date.now() + 91 * 86_400_000).toISOString().slice(0, 10);
  const read = () => {
    for (const id of ids) {
      reader.product(id);
      reader.calendar(id, { from, to });
      reader.slots(id, from);
    }
    reader.search({ text: 'golden mus' });
  };
  for (let time = 0; time < 5; time += 1) read();
  const before = process.cpuUsage();
  for (let time = 0; time < 30; time += 1) read();
  const { user, system } = process.cpuUsage(before);
  return { reads: (user + system) / 1000 };
}

function run(root: string, config: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, [cliOf(root), '--config', config, ...args], { stdio: 'ignore' });
  return new Promise((resolve) => child.once('exit', resolve));
}
