import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { plannedOnce } from '../../src/storefront/planned-once.ts';
import { freePort } from '../fakes/free-port.ts';
import { openReader } from '../fakes/reader.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { inDays, type Line, median, optionsOf, processorTime, spread } from './measure.ts';

/*
 * A product page on a new connection, as php-fpm opens one for each request, and on one that stays open: out of the mirror, out of a
 * file that has the same rows in plain tables and nothing else, and as one JSON text out of Redis. `npm run bench -- connection
 * --products 300`, or `--mirror FILE`.
 */

const [rounds, shown, days] = [20, 20, 31];
/** Views of the page, with the columns that a page is asked for by. */
const views = {
  products: 'product_id, language',
  images: 'product_id, position, image_key',
  availability_days: 'product_id, currency, date',
  availability_slots: 'product_id, currency, date, time, variant_id',
  alternatives: 'product_id, alternative_product_id',
} as const;

/** Microseconds of the processor for a page, round by round, by what it was read from: `mirror, new`, `redis, open`. */
type Taken = Readonly<Record<string, readonly number[]>>;

interface Task {
  readonly files: Readonly<Record<'mirror' | 'plain', string>>;
  readonly statements: readonly string[];
  readonly ids: readonly number[];
  readonly rounds: number;
  readonly redis: number | null;
}

export async function connectionLines(args: readonly string[]): Promise<Line[]> {
  const { products, mirror } = optionsOf('connection', args, { products: 300, mirror: '' });
  if (mirror !== '') return linesOf(mirror);
  await using harness = await virtualHarness({ products }, {}, { start: Date.now() });
  await harness.runUntil(harness.isFilled);
  harness.daemon.mirror.checkpoint('tight');
  return await linesOf(harness.daemon.config.mirror.path);
}

async function linesOf(mirror: string): Promise<Line[]> {
  const plain = `${mirror}.plain`;
  copyPlain(mirror, plain);
  using reader = openReader(mirror);
  const sold = reader.products({ limit: 10_000 }).filter(({ sellable }) => sellable === 1);
  const ids = spread(
    sold.map(({ product_id }) => product_id),
    shown,
  );
  const statements = [
    "SELECT * FROM products WHERE product_id = ? AND language = 'en'",
    'SELECT large_url, alt_text, credit FROM images WHERE product_id = ? ORDER BY position',
    `SELECT date, state, lowest_adult_price, price_variant_type, freshness FROM availability_days
     WHERE product_id = ? AND currency = 'EUR' AND date BETWEEN '${inDays(1)}' AND '${inDays(days)}' ORDER BY date`,
    `SELECT time, variant_id, retail_price, availability FROM availability_slots
     WHERE product_id = ? AND currency = 'EUR' AND date = '${inDays(5)}' ORDER BY time`,
    'SELECT alternative_product_id FROM alternatives WHERE product_id = ?',
  ];
  await using redis = await startRedis(mirror, statements, ids);
  const task: Task = { files: { mirror, plain }, statements, ids, rounds, redis: redis?.port ?? null };
  return [
    ...linesIn('PHP', inProgram('php', 'page.php', task)),
    ...linesIn('Python', inProgram('python3', 'page.py', task)),
    ...linesIn('Node', inNode(task)),
    schemaLine(mirror),
  ];
}

/** Makes a file with the rows of the page's views as they are now, each view as a table with its key. */
function copyPlain(mirror: string, path: string): void {
  const db = new Database(path);
  db.prepare('ATTACH ? AS mirror').run(mirror);
  for (const [view, key] of Object.entries(views)) {
    db.exec(`CREATE TABLE main.${view} AS SELECT * FROM mirror.${view}`);
    db.exec(`CREATE UNIQUE INDEX main.${view}_key ON ${view} (${key})`);
  }
  db.close();
}

/** Starts Redis with every page as one JSON text; null: there is none here. */
async function startRedis(mirror: string, statements: readonly string[], ids: readonly number[]) {
  if (spawnSync('redis-server', ['--version']).error !== undefined) return null;
  const port = await freePort();
  const child = spawn('redis-server', ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', '/tmp']);
  for await (const text of child.stdout) if (String(text).includes('Ready to accept connections')) break;
  child.stdout.resume();
  const db = new Database(mirror, { readonly: true });
  const socket = connect(port, '127.0.0.1');
  for (const id of ids) {
    const text = JSON.stringify(statements.map((statement) => db.prepare(statement).all(id)));
    const parts = ['SET', String(id), text].map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`);
    socket.write(`*3\r\n${parts.join('')}`);
    await once(socket, 'data');
  }
  socket.destroy();
  db.close();
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

function inProgram(command: string, program: string, task: Task): Taken | null {
  if (spawnSync(command, ['--version']).error !== undefined) return null;
  const args = [join(import.meta.dirname, 'programs', program), JSON.stringify(task)];
  return JSON.parse(execFileSync(command, args, { encoding: 'utf8' }));
}

function inNode({ files, statements, ids, rounds }: Task): Taken {
  const texts = statements.map(plannedOnce);
  const prepared = (db: Database.Database) => texts.map((text) => db.prepare(text));
  const anew = (path: string) => (id: number) => {
    const db = new Database(path, { readonly: true });
    for (const statement of prepared(db)) statement.all(id);
    db.close();
  };
  const kept = Object.values(files).map((path) => new Database(path, { readonly: true }));
  const works = Object.entries(files).flatMap(([name, path], index) => {
    // A shop in Node keeps its statements as long as its connection.
    const statements = prepared(kept[index] as Database.Database);
    const page = (id: number) => {
      for (const statement of statements) statement.all(id);
    };
    return [[`${name}, new`, anew(path)] as const, [`${name}, open`, page] as const];
  });
  const taken: Record<string, number[]> = {};
  for (let turn = -3; turn < rounds; turn += 1)
    for (const [name, work] of works) {
      const micros = (1000 * processorTime(() => ids.forEach(work))) / ids.length;
      if (turn >= 0) taken[name] = [...(taken[name] ?? []), micros];
    }
  for (const db of kept) db.close();
  return taken;
}

function linesIn(language: string, taken: Taken | null): Line[] {
  const what = (kind: string) => `a product page in ${language}, ${kind} connection: mirror, plain file, Redis`;
  if (taken === null)
    return ['new', 'open'].map((kind) => ({
      what: what(kind),
      value: `there is no ${language} here`,
      target: '-',
      met: 'not run',
    }));
  const of = (name: string) => median(taken[name] ?? []);
  return ['new', 'open'].map((kind) => {
    const [mirror, plain, redis] = ['mirror', 'plain', 'redis'].map((name) => of(`${name}, ${kind}`));
    const beside = redis ? `${redis.toFixed(0)} µs` : 'none here';
    const value = `${mirror?.toFixed(0)} µs, ${plain?.toFixed(0)} µs, ${beside}`;
    if (kind === 'new' || !redis) return { what: what(kind), value, target: '-', met: null };
    const ratio = (mirror ?? 0) / redis;
    return { what: what(kind), value: `${value} = ${ratio.toFixed(2)} ×`, target: '≤ 1.1 × Redis', met: ratio <= 1.1 };
  });
}

/** Returns the size of the schema, which every new connection parses before its first statement. */
function schemaLine(path: string): Line {
  const db = new Database(path, { readonly: true });
  const [entries, bytes] = db
    .prepare<[], [number, number]>('SELECT count(*), sum(length(sql)) FROM sqlite_schema')
    .raw()
    .get() ?? [0, 0];
  db.close();
  const value = `${entries} entries, ${(bytes / 1024).toFixed(0)} kB`;
  return { what: 'the schema that a new connection parses', value, target: '-', met: null };
}
