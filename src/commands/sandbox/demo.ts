import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Command } from 'commander';
import { newId, systemClock, systemEntropy } from '../../clock.ts';
import { documentText } from '../../config/document.ts';
import { type LoadedConfig, parseConfig } from '../../config/load.ts';
import { createSecret } from '../../config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../daemon/daemon.ts';
import { thisMachine } from '../../daemon/machine.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import { number } from '../../format.ts';
import { createLog } from '../../log.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { startImageHost } from '../../sandbox/images/image-host.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { aborted } from '../terminal/aborted.ts';
import type { Io } from '../terminal/io.ts';
import { progressPrinter } from '../terminal/progress.ts';
import { play } from './demo-play.ts';

const ownDirectory = './data/demo';

interface Options {
  readonly products: string;
  readonly directory: string;
}

export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description(
      'Starts a simulated service and a daemon that mirrors it. Needs no account, no configuration and no network.',
    )
    .option('--products <count>', 'number of products in the simulated catalogue', '400')
    .option('--directory <path>', 'directory for the mirror', ownDirectory)
    .addHelpText('after', '\nExamples:\n  catalogued demo\n  catalogued demo --products 2000 --directory /tmp/demo')
    .action(async ({ products, directory }: Options) => {
      io.runsUntilStopped();
      refuseForeign(directory);
      const key = newId(systemEntropy);
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      await using images = await startImageHost({ clock: systemClock, seed: 7 });
      await using sandbox = await startSandbox({
        clock: systemClock,
        seed: 7,
        products: Number(products) || 400,
        key,
        live: true,
        image_origin: images.url,
        hold_ms: holdMs,
        signing_public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      });
      // Closed from the start, so that the play can open it.
      const [last] = sandbox.products().slice(-1);
      if (last !== undefined) sandbox.world.disable(last.id, { reason: 'temporary_closure' });
      io.stdout.write(
        `A simulated service with ${number(sandbox.products().length)} products answers on ${sandbox.url}\n`,
      );
      const signing = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      const { config, files } = demoConfig({ directory, sandbox, port: await freePort(), key, signing });
      const token = hexOf(16);
      await using daemon = await startDaemon(thisMachine(createLog('error', io.stderr)), config, {
        admin: [{ listen: '127.0.0.1:0', token: createSecret(token) }],
      });
      for (const [file, text] of Object.entries(files)) writeFileSync(file, text, { mode: 0o600 });
      await Promise.race([filled(io, daemon), daemon.broken]);
      if (io.signal.aborted) return;
      io.stdout.write(introduction(daemon, { directory, token }));
      await Promise.race([notify(io, sandbox, daemon), daemon.broken]);
      await Promise.race([aborted(io.signal), daemon.broken]);
      io.stdout.write('Stopped. The mirror stays and can still be read.\n');
    });
}

/** Milliseconds for which the sandbox holds changes. The service holds them for minutes, too long for a demo. */
const holdMs = 3000;

/** Subscribes, and shows how the mirror follows what the service announces. */
async function notify(io: Io, sandbox: Sandbox, { mirror, subscriptions, ports }: RunningDaemon): Promise<void> {
  if ('why' in subscriptions) throw subscriptions.why;
  await subscriptions.work.maintain(io.signal);
  const [subscription] = mirror.subscriptions.all();
  const say = (line: string) =>
    io.stdout.write(`${new Date(ports.clock.now()).toISOString().slice(11, 19)}  ${line}\n`);
  say(
    `mirror   subscribed to changes of ${number(subscription?.covered_products ?? 0)} products: ${subscription?.status}`,
  );
  using db = openMirrorToRead(mirror.path);
  await play({ sandbox, mirror, clock: ports.clock, signal: io.signal, say, description: db.description });
  const { product_id: id } = db.onSale();
  if (!io.signal.aborted)
    io.stdout.write(
      `\nChange something yourself, and see it arrive:\n  curl -d '{"reason":"temporary_closure"}' ${sandbox.url}/sandbox/products/${id}/disable\n  sqlite3 -box ${mirror.path} "SELECT product_id, sellable, disabled_reason, disabled_source FROM products WHERE product_id = ${id}"\n`,
    );
}

function openMirrorToRead(path: string) {
  const db = openMirrorForReading(path);
  const text = db
    .prepare<[number], string | null>(
      "SELECT json_extract(document, '$.description') FROM products WHERE product_id = ?",
    )
    .pluck();
  // The play takes the first one off sale.
  const sold = db.prepare<[], { product_id: number; date: string }>(
    `SELECT b.product_id, min(b.date) AS date FROM bookable_days b
    JOIN products p ON p.product_id = b.product_id AND p.language = 'en' AND p.sellable = 1
    WHERE b.currency = 'EUR' AND b.date > date('now', '+2 days') GROUP BY b.product_id ORDER BY b.product_id LIMIT 1 OFFSET 1`,
  );
  return {
    description: (product_id: number) => text.get(product_id) ?? null,
    /** Returns a product that stays on sale, and a date on which it can be booked. */
    onSale: () => sold.get() ?? { product_id: 0, date: '' },
    [Symbol.dispose]: () => {
      db.close();
    },
  };
}

/** Returns a port that was free a moment ago: the configuration needs the callback address in advance. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface DemoParts {
  readonly directory: string;
  readonly sandbox: Sandbox;
  /** The port of the receiver. */
  readonly port: number;
  readonly key: string;
  readonly signing: string;
}

interface DemoConfig {
  readonly config: LoadedConfig;
  /** The same configuration as files for the other commands: texts by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns the embedded defaults pointed at the sandbox, which may be called as fast as it can answer. */
function demoConfig({ directory, sandbox, port, key, signing }: DemoParts): DemoConfig {
  const state_dir = join(directory, 'state');
  const receiving = hexOf(32);
  const secrets = {
    key: join(state_dir, 'api_key'),
    signing: join(state_dir, 'signing_key.pem'),
    receiving: join(state_dir, 'receiver_secret'),
  };
  const text = documentText({
    service: { base_url: sandbox.url, api_key_file: secrets.key, user_agent: 'catalogued demo' },
    mirror: { path: mirrorFile(directory), state_dir, inbox_path: join(state_dir, 'inbox.db') },
    admin: { listen: `unix:${join(state_dir, 'admin.sock')}` },
    storefront: { listen: `unix:${doorSocket(directory)}` },
    signing: { key_file: secrets.signing },
    backup: { directory: join(directory, 'backup') },
    budget: { requests_per_second: 2000, concurrency: 4 },
    receiver: {
      listen: `127.0.0.1:${port}`,
      public_url: `http://127.0.0.1:${port}/hooks`,
      secret_file: secrets.receiving,
    },
    // The simulated service serves its images from this machine.
    images: { hosts: ['127.0.0.1'] },
    subscriptions: [{ id: 'demo', type: 'product_ids', entities: 'mirrored' }],
  });
  const file = configFile(directory);
  return {
    config: {
      ...parseConfig(text),
      file,
      placesOf: () => [],
      secrets: {
        api_key: createSecret(key),
        signing_key: createSecret(signing),
        receiver_secret: createSecret(receiving),
        admin_token: null,
        storefront_token: null,
        database_url: null,
      },
    },
    files: {
      [file]: `${mark}\n${text}`,
      [secrets.key]: key,
      [secrets.signing]: signing,
      [secrets.receiving]: receiving,
    },
  };
}

const mark = '# The demo writes this file at each start; the other commands use it.';

/** Throws if the directory holds a configuration, keys or a mirror that the demo did not make. */
function refuseForeign(directory: string): void {
  if (directory === ownDirectory) return;
  const config = configFile(directory);
  if (existsSync(config) && readFileSync(config, 'utf8').startsWith(mark)) return;
  const foreign = [config, mirrorFile(directory)].find((file) => existsSync(file));
  if (foreign === undefined) return;
  throw new CataloguedError('foreign-file', `${foreign} was not made by the demo and is not overwritten`, {
    exitCode: exitCodes.usage,
    hint: 'choose another --directory',
  });
}

function mirrorFile(directory: string): string {
  return join(directory, 'mirror.db');
}

function doorSocket(directory: string): string {
  return join(directory, 'storefront.sock');
}

function configFile(directory: string): string {
  return join(directory, 'catalogued.yaml');
}

async function filled(io: Io, { mirror, limiter }: RunningDaemon): Promise<void> {
  const printer = progressPrinter(io);
  while (mirror.filledAt() === null && !io.signal.aborted) {
    await systemClock.sleep(250, io.signal).catch(() => undefined);
    const { records, never_fetched } = mirror.records.fill();
    const { calls } = limiter.state();
    const note = `${number(mirror.products.count())} products`;
    printer.show({ phase: 'filling', done: records - never_fetched, total: records, calls, note }, systemClock.now());
  }
  printer.end();
}

function introduction(
  { mirror, config, admin: [, page = ''], receiver }: RunningDaemon,
  { directory, token }: { directory: string; token: string },
): string {
  const { path, products } = mirror;
  const socket = join(directory, 'state', 'admin.sock');
  using db = openMirrorToRead(path);
  const { product_id, date } = db.onSale();
  return `
The mirror is filled and kept true: ${number(products.count())} products in ${path}

Addresses
  the mirror       ${path}   (open it read-only, from any language with SQLite)
  the daemon       unix:${socket}   (curl --unix-socket ${socket} http://localhost/v1/status)
  for storefronts  unix:${doorSocket(directory)}   (live checks, orders and the change feed, and nothing else)
  its page         ${page.replace('//', `//demo:${token}@`)}/   (in a browser: shows whether the mirror is true, and if not, why)
  the service      ${config.service.base_url}   (simulated)
  the receiver     ${receiver}   (takes the service's notifications, which are held for ${holdMs / 1000} s here and for minutes by the real one)

Queries to try in another terminal
  sqlite3 -box ${path} "SELECT product_id, title, sale_status, lowest_adult_price, currency FROM products WHERE language = 'en' AND sellable LIMIT 5"
  sqlite3 -box ${path} "SELECT date, state, lowest_adult_price, max_tickets FROM availability_days WHERE product_id = ${product_id} AND currency = 'EUR' LIMIT 7"
  sqlite3 -box ${path} "SELECT p.title, b.date, b.lowest_adult_price FROM bookable_days b JOIN products p USING (product_id) WHERE b.currency = 'EUR' AND b.date = date('now', '+3 days') AND p.language = 'en' ORDER BY b.lowest_adult_price LIMIT 5"

Commands to try there
  npx catalogued --config ${configFile(directory)} status
  npx catalogued --config ${configFile(directory)} explain ${product_id}
  npx catalogued --config ${configFile(directory)} check ${product_id} --date ${date}

Stop with Ctrl-C.
`;
}

const hexOf = (bytes: number) => Buffer.from(systemEntropy(bytes)).toString('hex');
