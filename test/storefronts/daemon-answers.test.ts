import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { createSecret } from '../../src/config/secrets.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { needs } from '../fakes/needs.ts';
import { openReader } from '../fakes/reader.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import {
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
  const sandbox = stack.use(await startSandbox({ clock: systemClock, seed: 1, products: 6 }));
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
