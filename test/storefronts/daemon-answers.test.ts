import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { document } from '../documents.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { freePort } from '../fakes/free-port.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory, testMirror } from '../fakes/test-mirror.ts';
import {
  answers,
  type Shop,
  type ShopLanguage,
  type ShopOptions,
  shopDirectory,
  shopLanguages,
  startShop,
} from './start-shop.ts';

/* What the example storefronts make of each answer of the daemon, which they reach over TCP with a token. */

const token = 'the-token-of-the-storefronts-door';
const stack = new AsyncDisposableStack();
let daemon: RunningDaemon;
/** What a shop needs to reach the daemon. */
let reached: ShopOptions;
/** A ticket that can be had, as a form asks for it. */
let wish: Record<'product' | 'date' | 'time' | 'variant' | 'price' | 'count', string>;

beforeAll(async () => {
  const { path } = stack.use(temporaryDirectory());
  const sandbox = stack.use(await startSandbox({ products: 6 }));
  const config = testConfig(
    path,
    sandbox.url,
    { storefront: { listen: '127.0.0.1:0' } },
    { storefront_token: createSecret(token) },
  );
  daemon = stack.use(await startDaemon(testMachine({ log: testLog('warn').log }), config));
  await untilFilled(daemon);
  const mirror = daemon.config.mirror.path;
  reached = { mirror, door: daemon.storefront?.replace('http:', 'tcp:') ?? '', token };
  wish = ticketOf(mirror);
});

afterAll(() => stack.disposeAsync());

function ticketOf(mirror: string): typeof wish {
  using reader = openReader(mirror);
  for (const { product_id } of reader.products()) {
    const [day] = reader
      .calendar(product_id, { from: future(7), to: future(14) })
      .filter(({ state }) => state === 'available');
    const slot =
      day && reader.slots(product_id, day.date).find(({ availability, retail_price }) => availability && retail_price);
    if (!slot) continue;
    const { date, time, variant_id, retail_price } = slot;
    return { product: `${product_id}`, date, time, variant: `${variant_id}`, price: `${retail_price}`, count: '1' };
  }
  throw new Error('no ticket to be had');
}

function future(days: number): string {
  return new Date(systemClock.now() + days * 86_400_000).toISOString().slice(0, 10);
}

type Answer = Awaited<ReturnType<Shop['get']>>;

/** A page, and all that the shop has printed by its end; `where` is laid over what a shop needs to reach the daemon. */
async function asked(language: ShopLanguage, where: Partial<ShopOptions>, ask: (shop: Shop) => Promise<Answer>) {
  const shop = await startShop(language, { ...reached, ...where });
  const { status, html } = await ask(shop).finally(() => shop[Symbol.asyncDispose]());
  return { status, html, verdict: /data-verdict="(\w+)"/.exec(html)?.[1], printed: shop.printed() };
}

const checkout = (language: ShopLanguage, change = {}, where: Partial<ShopOptions> = {}) =>
  asked(language, where, (shop) => shop.post('/checkout', { ...wish, ...change }));

/** A storefront of somebody who has changed a line of it. */
function changed(language: ShopLanguage, file: string, before: RegExp, after: string) {
  const { path, ...rest } = temporaryDirectory();
  cpSync(shopDirectory(language), path, { recursive: true });
  const name = join(path, `${file}.${{ PHP: 'php', Python: 'py' }[language]}`);
  const text = readFileSync(name, 'utf8');
  expect(text).toMatch(before);
  writeFileSync(name, text.replace(before, after));
  return { directory: path, ...rest };
}

describe.each(shopLanguages)('the storefront in %s', needs('php', 'python3'), (language) => {
  it('takes a wrong token for its own mistake: a page that says nothing of it, and a line in the log (control)', async () => {
    const wrong = await checkout(language, {}, { token: 'another-token' });
    expect(wrong.status).toBe(500);
    expect(wrong.html).toContain('Something went wrong on our side');
    expect(wrong.html).not.toMatch(/token|401|daemon/);
    expect(wrong.printed).toMatch(/^.*the daemon answers 401: .*Authorization: Bearer.*$/m);
    expect(wrong.printed).not.toContain('another-token');
  });

  it('takes a question that the daemon refuses for its own mistake, and logs why', async () => {
    using dollars = changed(language, 'mirror', /(CURRENCY = |"en", )(['"])EUR/, '$1$2USD');
    const { status, html, printed } = await checkout(language, {}, dollars);
    expect(status).toBe(500);
    expect(html).not.toContain('USD');
    expect(printed).toMatch(/^.*the daemon answers 400: .*USD.*$/m);
    expect(printed).not.toMatch(/Warning|Deprecated|Fatal|Traceback/);
  });

  it('says nothing of a mirror that cannot be opened but in its log', async () => {
    const mirror = '/nonexistent/mirror.db';
    const { status, html, printed } = await asked(language, { mirror }, (shop) => shop.get('/'));
    expect(status).toBe(500);
    expect(html).toContain('Something went wrong on our side');
    expect(html).not.toMatch(/nonexistent|unable to open/);
    expect(printed).toMatch(/^.*unable to open database file.*$/m);
  });

  it('does not sell what the daemon does not know: neither such a product, nor such a ticket', async () => {
    for (const unknown of [{ product: '1' }, { variant: '1' }]) {
      const { status, html } = await checkout(language, unknown);
      expect(status).toBe(404);
      expect(html).toContain('<h1>This ticket is not sold here</h1>');
    }
  });
});

/** The lines of the documented example that open a mirror. */
const opening = /\$file = .*?\n\]\);\n/s.exec(document('docs/storefront.md'))?.[0] ?? '';

/** A page that prints a title, or dies in the middle of a read: a statement has given one row of many, in a transaction. */
const page = (open: string) => `<?php
${open}
$read = fn () => $db->query("SELECT title FROM products WHERE product_id = 1 AND language = 'en'")->fetchColumn();
$dies = $_GET['dies'] ?? null;
if ($dies !== null) {
    isset($_GET['unknown']) ? $db->exec('BEGIN') : $db->beginTransaction();
    $GLOBALS['rows'] = $db->query('SELECT title FROM products');
    $GLOBALS['rows']->fetch();
    if ($dies === 'exit') exit(1);
    if ($dies === 'exception') throw new Exception('nobody catches it');
    if ($dies === 'memory') for ($all = []; ; ) $all[] = str_repeat('x', 100000);
    if ($dies === 'call') no_such_function();
}
echo $read();
`;

/** PHP's own server: one process, as a worker of php-fpm, that outlives its requests. */
async function worker(directory: string, open: string) {
  const port = await freePort();
  writeFileSync(join(directory, 'page.php'), page(open));
  const args = ['-d', 'memory_limit=16M', '-S', `127.0.0.1:${port}`, 'page.php'];
  const child = spawn('php', args, { cwd: directory, stdio: 'ignore' });
  while (!(await answers(port))) await setTimeout(10);
  const get = async (query = '') => (await fetch(`http://127.0.0.1:${port}/?${query}`)).text();
  return {
    title: () => get(),
    dies: (how: string) => get(`dies=${how}`),
    /** The files of the mirror that it has open. */
    open: () =>
      readdirSync(`/proc/${child.pid}/fd`)
        .map((fd) => readlinkSync(`/proc/${child.pid}/fd/${fd}`))
        .filter((path) => /mirror\.db( \(deleted\))?$/.test(path)).length,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A mirror of a few hundred products, and what its daemon does. */
function mirrorOf(title: string) {
  const test = testMirror();
  putProducts(test, [productOf(1, { title }), ...Array.from({ length: 300 }, (_, at) => productOf(at + 2))]);
  const later = () => Date.now() + 1000;
  return {
    path: test.path,
    open: opening.replace("getenv('MIRROR')", `'${test.path}'`),
    retitle: (next: string) => putProducts(test, [productOf(1, { title: next })], { sent_at: later() }),
    /** Copies the log into the file; returns whether a reader hinders it. */
    hindered: () => {
      using db = Object.assign(new Database(test.path, { timeout: 0 }), { [Symbol.dispose]: () => undefined });
      const [row] = db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      db.close();
      return row?.busy === 1;
    },
    [Symbol.dispose]: () => test[Symbol.dispose](),
  };
}

describe('a connection of PDO that PHP keeps between requests', needs('php'), () => {
  it.each(['exit', 'exception', 'memory', 'call'])(
    'shows the next request what is new, and hinders no checkpoint, where a script dies in the middle of a read: %s',
    async (how) => {
      using mirror = mirrorOf('before');
      await using php = await worker(join(mirror.path, '..'), mirror.open);
      expect(await php.title()).toBe('before');
      expect(php.open()).toBe(1);
      await php.dies(how);
      mirror.retitle('after');
      expect(mirror.hindered()).toBe(false);
      expect(await php.title()).toBe('after');
      expect(php.open()).toBe(1);
    },
  );

  it('would show what is old from then on, and hinder each checkpoint, with a transaction that PHP does not know (control)', async () => {
    using mirror = mirrorOf('before');
    await using php = await worker(join(mirror.path, '..'), mirror.open);
    await php.dies('exit&unknown');
    mirror.retitle('after');
    expect(mirror.hindered()).toBe(true);
    expect(await php.title()).toBe('before');
  });

  it('reads the file that took the place of the one it has open', async () => {
    using mirror = mirrorOf('old file');
    using other = mirrorOf('new file');
    await using php = await worker(join(mirror.path, '..'), mirror.open);
    expect(await php.title()).toBe('old file');
    replace(mirror.path, other.path);
    expect(await php.title()).toBe('new file');
    expect(await php.title()).toBe('new file');
  });

  it('would read the old file as long as PHP runs, without the inode in its name (control)', async () => {
    using mirror = mirrorOf('old file');
    using other = mirrorOf('new file');
    const unnamed = mirror.open.replace(/'inode ' \. @fileinode\(\$file\)/, 'true');
    await using php = await worker(join(mirror.path, '..'), unnamed);
    expect(await php.title()).toBe('old file');
    replace(mirror.path, other.path);
    expect(await php.title()).toBe('old file');
  });
});

/** Puts a copy of another mirror in the place of one, as restore does. */
function replace(path: string, by: string): void {
  const db = new Database(by);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  copyFileSync(by, `${path}.new`);
  for (const end of ['-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
  renameSync(`${path}.new`, path);
}
