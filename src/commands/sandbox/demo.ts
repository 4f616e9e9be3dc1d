import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import type { ShownProduct } from '../../catalogue/product-reads.store.ts';
import { documentText } from '../../config/document.ts';
import { type LoadedConfig, parseConfig } from '../../config/load.ts';
import { createSecret } from '../../config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../daemon/daemon.ts';
import { thisMachine } from '../../daemon/machine.ts';
import { type Clock, newId, systemClock, systemEntropy } from '../../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import { counted } from '../../kernel/format.ts';
import { createLog } from '../../kernel/log.ts';
import { acquireMirrorLock } from '../../kernel/sqlite/lock.ts';
import { sqliteLibrary } from '../../kernel/sqlite/read-only.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import { openMirrorForReading } from '../../mirror/sql/files.ts';
import { packageRoot } from '../../package.ts';
import { type SandboxImageHost, startImageHost } from '../../sandbox/images/image-host.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';
import { openReader } from '../../storefront/reader.ts';
import type { Io } from '../terminal/io.ts';
import { aborted } from '../terminal/io.ts';
import { progressPrinter, showFill } from '../terminal/progress.ts';
import { Breaking, DaemonLog } from './breaking.ts';
import { startShopServer } from './shop/server.ts';

/** The ports of the play: the service that it changes, and the mirror that it watches. */
interface Stage {
  readonly sandbox: Sandbox;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  say(line: string): void;
  /** Returns the description that the mirror shows. */
  description(product_id: number): string | null;
}

const lookEveryMs = 50;

/**
 * Lets the service close one product, open another and change a text, and reports each step once the mirror shows it.
 * Returns early when aborted. (It opens another product because the one just closed would take a minute: notifications
 * cause one read per product and minute.)
 */
async function play(stage: Stage): Promise<void> {
  const { sandbox, mirror } = stage;
  const { world } = sandbox;
  const ids = mirror.catalogue.products.ids();
  const [closed, other] = ids.filter((id) => mirror.catalogue.products.shown(id)?.sellable);
  const opened = ids.find((id) => mirror.catalogue.products.shown(id)?.sale_status === 'disabled');
  if (closed === undefined || other === undefined || opened === undefined) return;
  const name = (id: number) => `${id} "${mirror.catalogue.products.shown(id)?.title ?? ''}"`;

  stage.say(`service  closes ${name(closed)}: out_of_season, expected back within_month, instead ${other}`);
  world.disable(closed, { reason: 'out_of_season', expected_reopening: 'within_month', alternative: other });
  const off = await until(stage, () => shownAs(mirror, closed, ({ sellable }) => !sellable));
  if (off === null) return;
  stage.say(
    `mirror   ${closed} is off sale as announced: ${off.disabled_reason}, expected back ${off.expected_reopening}`,
  );
  const confirmed = await until(
    stage,
    () => mirror.push.closures.inForce({ product_id: closed })?.confirmed_at ?? null,
  );
  if (confirmed === null) return;
  stage.say(`mirror   ${closed} is off sale, confirmed by a read; its alternative is ${name(other)}`);

  stage.say(`service  opens ${name(opened)}, and changes the description of ${other}`);
  world.enable(opened);
  world.edit(other, { field: 'description', value: 'Now with a roof terrace.' });
  const on = await until(stage, () => shownAs(mirror, opened, ({ sellable }) => sellable));
  if (on === null) return;
  stage.say(`mirror   ${opened} is on sale again, by a read`);
  const text = await until(stage, () => {
    const shown = stage.description(other);
    return shown === 'Now with a roof terrace.' ? shown : null;
  });
  if (text !== null) stage.say(`mirror   ${other} reads "${text}", as the service says it`);
}

function shownAs(
  mirror: Stage['mirror'],
  product_id: number,
  is: (shown: ShownProduct) => boolean,
): ShownProduct | null {
  const shown = mirror.catalogue.products.shown(product_id);
  return shown !== null && is(shown) ? shown : null;
}

/** Polls until `look` returns something; returns null if aborted. */
async function until<Seen>({ clock, signal }: Stage, look: () => Seen | null): Promise<Seen | null> {
  while (!signal.aborted) {
    const seen = look();
    if (seen !== null) return seen;
    await clock.sleep(lookEveryMs, signal).catch(() => undefined);
  }
  return null;
}

const ownDirectory = './data/demo';

interface Options {
  readonly products: string;
  readonly directory: string;
}

export function demoCommand(io: Io): Command {
  return new Command('demo')
    .description(
      'Starts a simulated service, a daemon that mirrors it, and a small shop. Needs no account, no configuration and no network.',
    )
    .option('--products <count>', 'number of products in the simulated catalogue', '200')
    .option('--directory <path>', 'directory for the mirror', ownDirectory)
    .addHelpText('after', '\nExamples:\n  catalogued demo\n  catalogued demo --products 2000 --directory /tmp/demo')
    .action(async ({ products, directory }: Options) => {
      io.runsUntilStopped();
      refuseForeign(directory);
      beginAgain(directory);
      const key = newId(systemEntropy);
      const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      await using images = await startImageHost({ clock: systemClock, seed: 7 });
      await using sandbox = await startSandbox({
        clock: systemClock,
        seed: 7,
        products: Number(products) || 200,
        key,
        image_origin: images.url,
        hold_ms: holdMs,
        signing_public_key: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      });
      // Closed from the start, so that the story can open it.
      const [last] = sandbox.products().slice(-1);
      if (last !== undefined) sandbox.world.disable(last.id, { reason: 'temporary_closure' });
      io.stdout.write(
        `A simulated service with ${counted(sandbox.products().length, 'product')} answers on ${sandbox.url} (Ctrl-C stops everything).\n`,
      );
      const signing = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      const { config, files } = demoConfig({ directory, sandbox, port: await freePort(), key, signing });
      const log = new DaemonLog();
      await using daemon = await startDaemon(thisMachine(createLog('info', log)), config, {
        admin: [{ listen: '127.0.0.1:0', token: 'not needed' }],
      });
      for (const [file, text] of Object.entries(files)) writeFileSync(file, text, { mode: 0o600 });
      {
        using fill = showFill(progressPrinter(io), daemon.fill);
        await Promise.race([fill.done, aborted(io.signal), daemon.broken]);
      }
      if (io.signal.aborted) return;
      io.stdout.write(
        `The mirror is filled: ${counted(daemon.mirror.catalogue.products.count(), 'product')} in ${mirrorFile(directory)}\n`,
      );
      await Promise.race([story(io, sandbox, daemon), daemon.broken]);
      await using stack = new AsyncDisposableStack();
      const shop = await openShop(stack, { directory, sandbox, images, daemon, log });
      if (!io.signal.aborted)
        io.stdout.write(
          addresses({
            shop,
            page: daemon.admin[1] ?? '',
            path: mirrorFile(directory),
            product_id: firstOnSale(daemon),
          }),
        );
      await Promise.race([aborted(io.signal), daemon.broken]);
      io.stdout.write('Stopped. The mirror stays and can still be read.\n');
    });
}

/** Milliseconds for which the sandbox holds changes. The service holds them for minutes, too long for a demo. */
const holdMs = 1000;

/** Subscribes, and shows how the mirror follows what the service announces. The same at every start. */
async function story(io: Io, sandbox: Sandbox, { mirror, subscriptions, sync }: RunningDaemon): Promise<void> {
  if ('why' in subscriptions) throw subscriptions.why;
  await subscriptions.work.maintain(io.signal);
  const [subscription] = mirror.push.subscriptions.all();
  const say = (line: string) => io.stdout.write(`${new Date(sync.clock.now()).toISOString().slice(11, 19)}  ${line}\n`);
  say(
    `mirror   subscribed to changes of ${counted(subscription?.covered_products ?? 0, 'product')}: ${subscription?.status}`,
  );
  using db = openMirrorToRead(mirror.path);
  await play({ sandbox, mirror, clock: sync.clock, signal: io.signal, say, description: db.description });
}

function openMirrorToRead(path: string) {
  const db = openMirrorForReading(path);
  const text = db
    .prepare<[number], string | null>(
      "SELECT json_extract(document, '$.description') FROM products WHERE product_id = ?",
    )
    .pluck();
  return {
    description: (product_id: number) => text.get(product_id) ?? null,
    [Symbol.dispose]: () => {
      db.close();
    },
  };
}

interface ShopParts {
  readonly directory: string;
  readonly sandbox: Sandbox;
  readonly images: SandboxImageHost;
  readonly daemon: RunningDaemon;
  readonly log: DaemonLog;
}

/** Opens the shop, with the buttons beside it. Returns its address. */
async function openShop(stack: AsyncDisposableStack, parts: ShopParts): Promise<string> {
  const { directory, sandbox, images, daemon, log } = parts;
  const [, page = ''] = daemon.admin;
  const reader = stack.use(
    openReader(mirrorFile(directory), { engine: sqliteLibrary, daemon: { listen: `unix:${doorSocket(directory)}` } }),
  );
  const today = () => new Date(systemClock.now()).toISOString().slice(0, 10);
  const breaking = new Breaking({ sandbox, reader, page });
  const shop = { reader, today, orderId: () => newId(systemEntropy) };
  const product_id = firstOnSale(daemon);
  return stack.use(await startShopServer({ shop, breaking, log, page, image_origin: images.url, product_id })).url;
}

/** Returns a product that stays on sale in the story. */
function firstOnSale({ mirror }: RunningDaemon): number {
  return mirror.catalogue.products.ids().find((id) => mirror.catalogue.products.shown(id)?.sellable) ?? 0;
}

interface Addresses {
  readonly shop: string;
  readonly page: string;
  readonly path: string;
  readonly product_id: number;
}

function addresses({ shop, page, path, product_id }: Addresses): string {
  return `
Shop  ${shop}
Page  ${page}/
File  npx node -e "console.table(require(${builtReader()}).openReader('${path}').calendar(${product_id}, { columns: ['date', 'state', 'lowest_adult_price'] }).slice(0, 7))"
`;
}

/** Returns the place of the built reader, as a string that `require` takes in the working directory. */
function builtReader(): string {
  const path = relative('', fileURLToPath(new URL('dist/reader', packageRoot))).replaceAll('\\', '/');
  return `'${path.startsWith('.') || isAbsolute(path) ? path : `./${path}`}'`;
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
    mirror: { path: mirrorFile(directory), state_dir },
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

/**
 * Removes the files of the last start, so that each start is the same: the simulated service is a new one, which knows
 * nothing of what was changed then. Throws if a demo still runs on them (75).
 */
function beginAgain(directory: string): void {
  const path = mirrorFile(directory);
  if (!existsSync(path)) return;
  using _ = lockOfDemo(directory);
  for (const file of [path, `${path}-wal`, `${path}-shm`, join(directory, 'state'), join(directory, 'backup')])
    rmSync(file, { recursive: true, force: true });
}

function lockOfDemo(directory: string): Disposable {
  try {
    return acquireMirrorLock(mirrorFile(directory));
  } catch (error) {
    if (!(error instanceof CataloguedError) || error.code !== 'already-running') throw error;
    throw new CataloguedError(error.code, `another demo runs in ${directory}`, {
      exitCode: error.exitCode,
      hint: 'stop it first, or choose another --directory',
    });
  }
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

const hexOf = (bytes: number) => Buffer.from(systemEntropy(bytes)).toString('hex');
