import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/clock.ts';
import { table } from '../../src/commands/terminal/table.ts';
import { openMirrorForReading } from '../../src/mirror/sql/files.ts';
import { sequence } from '../../src/sandbox/random.ts';
import { all, kind } from '../../src/sandbox/rough/habits.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { residentMiB } from '../bench/process.ts';
import { anyNumber, commandLine } from '../command-line.ts';
import { freePort } from '../fakes/free-port.ts';
import { testConfigText } from '../fakes/test-config.ts';
import { type Comparison, compare } from '../oracle/oracle.ts';

/*
 * The real daemon, built, on real time, against the sandbox in every habit; products change at random and are announced,
 * and the daemon is killed with -9 every so often. Then calm: everything is read once more, and every column of every view
 * is compared. Memory and descriptors are read at the end of each life.
 */
const { minutes, products, seed, killEvery, plant } = commandLine(
  'npm run soak --',
  'Lets the built daemon live beside a service with every habit, kills it, and compares. Exit 0: no difference, nothing grows.',
  { '': 'ten minutes', '--minutes 30 --kill-every 60': 'longer lives', '--minutes 2 --plant': 'the control: exits 1' },
)
  .option('--minutes <n>', 'how long', anyNumber, 10)
  .option('--products <n>', 'how many products the service sells', anyNumber, 200)
  .option('--seed <n>', 'what happens', anyNumber, 1)
  .option('--kill-every <seconds>', 'how long each life of the daemon is', anyNumber, 30)
  .option('--plant', 'change a stored price before the comparison, which must find it')
  .parse()
  .opts<{ minutes: number; products: number; seed: number; killEvery: number; plant?: true }>();
const repository = join(import.meta.dirname, '../..');
const cli = join(repository, 'dist/cli.js');
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** What one life of the daemon used just before it ended. */
interface Life {
  readonly rss: number;
  readonly descriptors: number;
}

function used(pid: number): Life | null {
  try {
    return { rss: residentMiB(pid), descriptors: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return null;
  }
}

const directory = mkdtempSync(join(tmpdir(), 'catalogued-soak-'));
const port = await freePort();
await using sandbox = await startSandbox({
  clock: systemClock,
  seed,
  products,
  live: true,
  changes: { median_hours: 0.5, sigma: 1.5, until: Date.now() + minutes * 60_000 },
  hold_ms: 2000,
  retry_ms: [1000, 2000, 4000, 8000, 16_000],
  habits: all,
});
const secret = join(directory, 'receiver_secret');
writeFileSync(secret, randomBytes(32).toString('hex'), { mode: 0o600 });
const config = join(directory, 'catalogued.yaml');
writeFileSync(
  config,
  testConfigText(directory, sandbox.url, {
    service: { profile: { authorization: { header: null } } },
    budget: { requests_per_second: 200, concurrency: 4 },
    signing: { body: 'json' },
    receiver: { listen: `127.0.0.1:${port}`, public_url: `http://127.0.0.1:${port}/hooks`, secret_file: secret },
    subscriptions: [{ id: 'soak', type: 'product_ids', entities: 'mirrored' }],
  }),
);

let output = '';
function start(): ChildProcess {
  const child = spawn(process.execPath, [cli, '--config', config, 'run'], { stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return child;
}

async function ended(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null)
    await new Promise((resolve) => child.once('close', resolve));
  return child.exitCode ?? child.signalCode;
}

async function runToEnd(args: readonly string[], ms: number): Promise<{ code: number | string | null; said: string }> {
  const child = spawn(process.execPath, [cli, '--config', config, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const late = setTimeout(() => child.kill('SIGKILL'), ms);
  try {
    return { code: await ended(child), said };
  } finally {
    clearTimeout(late);
  }
}

/** One thing that happens to some product. */
function mutate({ world }: Sandbox, chance: () => number, step: number): void {
  const visible = world.visible();
  const product = visible[Math.floor(chance() * visible.length)];
  if (product === undefined) return;
  const what = chance();
  if (what < 0.25) world.disable(product.id, { reason: 'out_of_season', expected_reopening: 'within_month' });
  else if (what < 0.6)
    for (const each of visible) if (each.status === 'unavailable' && chance() < 0.3) world.enable(each.id);
  if (what >= 0.6) world.edit(product.id, { field: what < 0.8 ? 'title' : 'must_know', value: `Edited ${step}` });
}

async function difference(): Promise<Comparison> {
  const reader = openMirrorForReading(join(directory, 'mirror', 'mirror.db'));
  try {
    const ids = sandbox.world.visible().map(({ id }) => id);
    const question = { language: 'en', currency: 'EUR', now: Date.now() };
    const state = async (id: number) => {
      const shown = sandbox.state(id, { ...question, horizon: 92 });
      if (shown === null) throw new Error(`no product ${id}`);
      return shown;
    };
    return await compare(reader, ids, state, question);
  } finally {
    reader.close();
  }
}

const chance = sequence(seed);
const lives: Life[] = [];
const until = Date.now() + minutes * 60_000;
let child = start();
let [mutations, kills, own] = [0, 0, 0];
let kill_at = Date.now() + killEvery * 1000;
let last: Life | null = null;
while (Date.now() < until) {
  await systemClock.sleep(250);
  if (child.exitCode !== null || child.signalCode !== null) {
    own += 1;
    say(`it ended by itself with ${child.exitCode ?? child.signalCode}:\n${output.slice(-2000)}`);
    child = start();
  }
  mutations += 1;
  mutate(sandbox, chance, mutations);
  last = (child.pid === undefined ? null : used(child.pid)) ?? last;
  if (Date.now() < kill_at) continue;
  if (last !== null) lives.push(last);
  child.kill('SIGKILL');
  await ended(child);
  output = '';
  kills += 1;
  kill_at = Date.now() + killEvery * 1000;
  child = start();
}

say(`${mutations} changes, ${kills} kills, ${sandbox.calls.counts().calls} calls, ${own} ends of its own; now calm`);
const { endpoints, escapes, hostile_values, unrated } = all;
sandbox.setHabits({ ...kind, endpoints, escapes, hostile_values, unrated });
for (let tries = 0; tries < 60; tries += 1) {
  await systemClock.sleep(1000);
  if (sandbox.inFlight() === 0) break;
}
// What is off sale is looked at again after its second "available" read, a minute later.
await systemClock.sleep(70_000);
// The sandbox's days sell out by the hour: what is read and what it is compared with must be of one.
const hour = 3_600_000;
const left = hour - (Date.now() % hour);
if (left < 5 * 60_000) await systemClock.sleep(left);
const resynced = await runToEnd(['resync', '--all', '--wait'], 600_000);
say(`resync --all --wait: ${resynced.code}; ${resynced.said.trim().split('\n').at(-1)}`);
const calm = child.pid === undefined ? null : used(child.pid);
child.kill('SIGTERM');
const stopped = await ended(child);
if (plant) {
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(join(directory, 'mirror', 'mirror.db'));
  db.exec('UPDATE _day SET lowest_price = lowest_price + 1 WHERE product_id = (SELECT max(product_id) FROM _day)');
  db.close();
}
const { differences, first, rows } = await difference();
for (const each of first.slice(0, 5)) say(`  ${each}`);

const half = Math.floor(lives.length / 2);
const mean = (part: readonly Life[], of: (life: Life) => number) =>
  part.length === 0 ? 0 : part.reduce((sum, each) => sum + of(each), 0) / part.length;
const figures = [
  ['first half of its lives', lives.slice(0, half)],
  ['second half', lives.slice(half)],
  ['after the calm', calm === null ? [] : [calm]],
] as const;
say(
  table(
    ['', 'memory MiB', 'descriptors'],
    figures.map(([name, part]) => [
      name,
      mean(part, ({ rss }) => rss).toFixed(0),
      mean(part, ({ descriptors }) => descriptors).toFixed(1),
    ]),
  ),
);
// Fewer lives say more about where in their work they were killed than about growth.
const judged = lives.length >= 10;
const grows =
  judged &&
  (mean(lives.slice(half), ({ descriptors }) => descriptors) >
    mean(lives.slice(0, half), ({ descriptors }) => descriptors) + 5 ||
    mean(lives.slice(half), ({ rss }) => rss) > 1.25 * mean(lives.slice(0, half), ({ rss }) => rss));
if (!judged) say('growth is not judged: fewer than ten lives');
say(
  `${Object.values(rows).reduce((sum, each) => sum + each, 0)} rows compared: ${differences} differences; stopped with ${stopped}`,
);
const good = differences === 0 && !grows && own === 0 && resynced.code === 0 && stopped === 0;
say(good ? 'No problem.' : 'NOT as it must be.');
rmSync(directory, { recursive: true, force: true });
process.exitCode = good ? 0 : 1;
