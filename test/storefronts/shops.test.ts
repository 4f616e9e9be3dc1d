import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestResync } from '../../src/cycle/request-resync.ts';
import { type RunningDaemon, startDaemon } from '../../src/daemon/daemon.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { addDays, venueToday } from '../../src/kernel/time/venue.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { untilFilled } from '../fakes/filled-daemon.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { startSandbox } from '../fakes/start-sandbox.ts';
import { testConfig } from '../fakes/test-config.ts';
import { testLog } from '../fakes/test-log.ts';
import { testMachine } from '../fakes/test-machine.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { type Shop, shopLanguages, startShop } from './start-shop.ts';

/* Both example storefronts beside a live daemon: the same pages, whoever makes them. */

const markup = `<script>alert("x")</script> Ann's <b>Tower</b>`;
const escaped = '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; Ann&#039;s &lt;b&gt;Tower&lt;/b&gt;';
const soldOutIn = 5;

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let daemon: RunningDaemon;
let shops: Shop[];
/** Products with a part to play, and the date in some days at the venue of the first. */
let ids: { open: number; closed: number; instead: number; leaving: number; closing: number; grouped: number };
let dateIn: (days: number) => string;

beforeAll(async () => {
  const { path } = stack.use(temporaryDirectory());
  sandbox = stack.use(await startSandbox({ products: 24 }));
  const played = sandbox.products().filter(({ status, images }) => status === 'available' && images.length > 1);
  const [open, closed, instead, leaving, closing, grouped] = played;
  if (!open || !closed || !instead || !leaving || !closing || !grouped) throw new Error('too few products');
  ids = {
    open: open.id,
    closed: closed.id,
    instead: instead.id,
    leaving: leaving.id,
    closing: closing.id,
    grouped: grouped.id,
  };
  grouped.variants = grouped.variants.map((variant) => ({ ...variant, type: 'group' }));
  const { earliest: today } = venueToday(open.place.zone, systemClock.now());
  dateIn = (days) => addDays(today, days);
  const variants = open.variants.map((variant) => ({ ...variant, label: markup }));
  Object.assign(open, { title: markup, closed_weekday: null, slots: 2, variants });
  Object.assign(open.images[0] ?? {}, { credit: markup, alt_text: markup });
  open.sold_out.add(dateIn(soldOutIn));
  sandbox.world.disable(closed.id, { reason: 'out_of_season', expected_reopening: 'within_month' });
  const door = join(path, 'storefront.sock');
  const more = { storefront: { listen: `unix:${door}` } };
  daemon = await startDaemon(testMachine({ log: testLog('warn').log }), testConfig(path, sandbox.url, more));
  stack.defer(() => daemon[Symbol.asyncDispose]());
  await untilFilled(daemon);
  // What a notification brings along; no read says it.
  change(`UPDATE _product SET alternative_product_id = ${ids.instead} WHERE product_id = ${ids.closed}`);
  change(`INSERT INTO alternatives VALUES (${ids.closed}, ${ids.instead})`);
  shops = await Promise.all(
    shopLanguages.map((language) => startShop(language, { mirror: mirrorPath(), door: `unix://${door}` })),
  );
  for (const shop of shops) stack.use(shop);
});

afterAll(() => stack.disposeAsync());

const mirrorPath = () => daemon.config.mirror.path;

function change(sql: string): void {
  const db = otherWriter(mirrorPath());
  db.exec(sql);
  db.close();
}

/** The first date from `date` on that is on sale: which dates are sold out hangs on the day on which the test runs. */
function availableFrom(date: string): string {
  const db = otherWriter(mirrorPath());
  const first = db
    .prepare("SELECT min(date) FROM day WHERE product_id = ? AND state = 'available' AND date >= ?")
    .pluck();
  const found = String(first.get(ids.open, date));
  db.close();
  return found;
}

async function readAgain(product_id: number): Promise<void> {
  const request = { resources: ['products', 'availability'] as const, product_ids: [product_id], from: null, to: null };
  requestResync(daemon.sync, request);
  await daemon.tick();
}

/** What both storefronts answer, which has to be the same but for how each writes an apostrophe, and the ids of orders. */
async function both(ask: (shop: Shop) => Promise<{ status: number; html: string }>) {
  const [php, python] = await Promise.all(shops.map(ask));
  const same = (html = '') => html.replaceAll('&#x27;', '&#039;');
  const anyOrder = (html = '') => same(html).replaceAll(/(name="order" value=)"[0-9a-f]{32}"/g, '$1"any"');
  expect(anyOrder(python?.html)).toBe(anyOrder(php?.html));
  expect(python?.status).toBe(php?.status);
  return { status: php?.status, html: same(php?.html) };
}

const page = (path: string) => both((shop) => shop.get(path));
const cell = (html: string, date: string) =>
  new RegExp(`<td data-date="${date}" class="(\\w+)[^>]*>(.*?)</td>`).exec(html)?.slice(1);
const monthOf = (date: string) => date.slice(0, 7);

/** The form of the first ticket that a page offers, as a browser would send it. */
function formIn(html: string, action: string): Record<string, string> {
  const [, form = ''] = new RegExp(`<form method="post" action="${action}">(.*?)</form>`).exec(html) ?? [];
  const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]);
  return { ...(form.includes('<select') ? { count: '1' } : {}), ...Object.fromEntries(fields) };
}

describe('a product page, in PHP and in Python', needs('php', 'python3'), () => {
  it('tells the daemon what was looked at, and of which date', async () => {
    const { interest } = daemon.mirror.schedule;
    const told = () => interest.of(ids.instead).windows.map(({ part, views }) => [part, Math.round(views)]);
    await page(`/product/${ids.instead}?date=${dateIn(40)}`);
    await page('/product/999999999');
    while (told()[0]?.[1] !== shops.length) {
      await setImmediate();
      await daemon.schedule.run('views');
    }
    expect(told()).toEqual([[1, 2]]);
  });

  it('shows images with their credits beside them, and nothing of the service as markup', async () => {
    const { status, html } = await page(`/product/${ids.open}`);
    expect(status).toBe(200);
    expect(html).toContain(`<h1 lang="en">${escaped}</h1>`);
    expect(html).toContain(`alt="${escaped}" loading="lazy"><figcaption>${escaped}</figcaption></figure>`);
    expect(html).not.toContain('<script');
  });

  it('tells available, sold out and unknown dates apart, and says what is to be checked', async () => {
    const sold = dateIn(soldOutIn);
    const { html } = await page(`/product/${ids.open}?month=${monthOf(sold)}`);
    expect(cell(html, sold)).toEqual(['sold_out', expect.stringMatching(/sold out$/)]);
    const far = dateIn(150);
    expect(cell((await page(`/product/${ids.open}?month=${monthOf(far)}`)).html, far)).toEqual([
      'unknown',
      expect.stringMatching(/not known$/),
    ]);
    const on = availableFrom(dateIn(33));
    const seen = async () => cell((await page(`/product/${ids.open}?month=${monthOf(on)}`)).html, on);
    const age = (cadence: number) =>
      change(
        `UPDATE date_window SET checked_at = ${Date.now() - 3_600_000}, stale_at = ${Date.now() - 3_600_000 + cadence} WHERE product_id = ${ids.open}`,
      );
    age(7_200_000);
    expect(await seen()).toEqual(['available', expect.stringMatching(/<b>\d+<\/b>\d+\.\d\d EUR/)]);
    age(3_000_000);
    expect(await seen()).toEqual(['stale', expect.stringMatching(/from \d+\.\d\d EUR, to be checked/)]);
    age(7_200_000);
    // Held right after its read: what was shown goes on being sold, and is checked.
    change(`UPDATE date_window SET held_at = ${Date.now() - 3_000_000} WHERE product_id = ${ids.open}`);
    expect(await seen()).toEqual(['stale', expect.stringMatching(/from \d+\.\d\d EUR, to be checked/)]);
    change(`UPDATE date_window SET held_at = NULL WHERE product_id = ${ids.open}`);
    age(600_000);
    expect(await seen()).toEqual(['unknown', expect.stringMatching(/not known/)]);
    expect((await page(`/product/${ids.open}?date=${on}`)).html).toContain('No tickets are known for this date.');
    await readAgain(ids.open);
    expect(await seen()).toEqual(['available', expect.anything()]);
  });

  it('says of a closed product why, until when, and what there is instead; and offers no ticket', async () => {
    const { html } = await page(`/product/${ids.closed}?date=${dateIn(2)}`);
    expect(html).toContain('This is not on sale now: out of season, expected back within a month.');
    expect(html).toContain(`<a href="/product/${ids.instead}">`);
    expect(html).not.toContain('action="/checkout"');
  });

  it('is a 404 for a product that there is not, and takes an impossible date for none', async () => {
    expect((await page('/product/1')).status).toBe(404);
    const { html } = await page(`/product/${ids.open}`);
    for (const odd of [
      'date=2026-02-31',
      'date=0001-01-01',
      'date=9999-12-31',
      'month=0001-01',
      'month=9999-12',
      'date=2026-11-28%0A',
    ]) {
      expect([odd, (await page(`/product/${ids.open}?${odd}`)).html]).toEqual([odd, html]);
    }
  });
});

describe('a search page, in PHP and in Python', needs('php', 'python3'), () => {
  const hits = (html: string) => [...html.matchAll(/<li><span><a href="\/product\/(\d+)/g)].map(([, id]) => Number(id));

  it('finds by words as they are typed, near a place, on a date, for at most a price', async () => {
    const product = sandbox.products().find(({ id }) => id === ids.instead);
    const typed = product?.title.slice(0, -2).replace(/[:+]/g, '').toUpperCase() ?? '';
    expect(hits((await page(`/?text=${encodeURIComponent(typed)}`)).html)).toContain(ids.instead);
    // A letter is missing in the longest word.
    const longest = typed.split(' ').toSorted((left, right) => right.length - left.length)[0] ?? '';
    const misspelt = typed.replace(longest, longest.slice(0, 3) + longest.slice(4));
    expect(hits((await page(`/?text=${encodeURIComponent(misspelt)}`)).html)).toContain(ids.instead);
    const near = `near=${product?.place.lat}%2C${product?.place.lng}&km=1`;
    const around = await page(`/?${near}`);
    expect(hits(around.html)).toContain(ids.instead);
    expect(around.html).toContain('0.0 km');
    const prices = [
      ...(await page(`/?date=${dateIn(3)}&most=60`)).html.matchAll(/<b>from (\d+)\.(\d\d) EUR<\/b>/g),
    ].map(([, euros, cents]) => Number(`${euros}${cents}`));
    expect(prices.length).toBeGreaterThan(3);
    expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    expect(Math.max(...prices)).toBeLessThanOrEqual(6000);
  });

  it('says which filters it did not understand, shows them again escaped, and searches by the others', async () => {
    const title = sandbox.products().find(({ id }) => id === ids.instead)?.title ?? '';
    const understood = `text=${encodeURIComponent(title)}`;
    const plain = await page(`/?${understood}&near=&km=++&most[]=a`);
    expect(plain.html).not.toContain('Not understood');
    expect(hits(plain.html)).toContain(ids.instead);
    const odd = { near: '200, 2.35', km: '-1', date: '2026-02-30', most: `abc"><i>` };
    const { html } = await page(`/?${understood}&${new URLSearchParams(odd)}`);
    expect(/<p class="notice">(.*?)<\/p>/.exec(html)?.[1]).toBe(
      'Not understood, and left out of the search: Near (latitude, longitude) “200, 2.35”, Within (km) “-1”, On “2026-02-30”, At most (EUR) “abc&quot;&gt;&lt;i&gt;”',
    );
    // As text: in a field for dates a browser shows no such date.
    expect(html).toContain('<input type="text" name="date" value="2026-02-30"');
    expect(html).toContain('name="most" value="abc&quot;&gt;&lt;i&gt;" placeholder="30" aria-invalid="true"');
    expect(hits(html)).toEqual(hits(plain.html));
  });
});

describe('a checkout, in PHP and in Python', needs('php', 'python3'), () => {
  /** What the page of a product offers first, on the first date from a week on that has tickets. */
  const offer = async (product_id: number) => {
    for (let days = 7; days < 14; days += 1) {
      const { html } = await page(`/product/${product_id}?date=${dateIn(days)}`);
      if (html.includes('action="/checkout"')) return formIn(html, '/checkout');
    }
    throw new Error(`product ${product_id} has no tickets in a week`);
  };
  const verdict = (html = '') => /data-verdict="(\w+)"/.exec(html)?.[1];
  const purchase = (html: string) => {
    const [, title, list = ''] = /data-verdict[^>]*><h2>(.*?)<\/h2><dl>(.*?)<\/dl>/.exec(html) ?? [];
    const lines = [...list.matchAll(/<dt>(\w+)<dd>([^<]*)/g)].map(([, term = '', words]) => [term, words]);
    return { title, ...Object.fromEntries(lines) };
  };
  const check = (wish: Record<string, string>) => both((shop) => shop.post('/checkout', wish));

  it('confirms what holds, rechecks and orders it, tells the daemon once, however often its form is sent', async () => {
    const { html } = await check({ ...(await offer(ids.open)), count: '2' });
    expect(verdict(html)).toBe('holds');
    const order = formIn(html, '/order');
    for (const shop of shops) {
      const ordered = (await shop.post('/order', order)).html;
      expect(verdict(ordered)).toBe('ordered');
      expect(purchase(ordered.replaceAll('&#x27;', '&#039;'))).toEqual(purchase(html));
    }
    const sold = () => daemon.mirror.catalogue.products.find(ids.open)?.sold;
    expect(sold()).toBeCloseTo(2, 1);
    const next = formIn((await check({ ...(await offer(ids.open)), count: '2' })).html, '/order');
    expect(next.order).not.toBe(order.order);
    expect(verdict((await shops[0]?.post('/order', next))?.html)).toBe('ordered');
    expect(sold()).toBeCloseTo(4, 1);
  });

  it('asks again where the price is another one, and takes it when the shopper does', async () => {
    const wish = await offer(ids.open);
    const { html } = await check({ ...wish, price: String(Number(wish.price) - 100) });
    expect(verdict(html)).toBe('changed');
    expect(html).toContain('The price has changed');
    const again = formIn(html, '/checkout');
    expect(again.price).toBe(wish.price);
    expect(html).toContain(`<dt>Price<dd>${(Number(wish.price) / 100).toFixed(2)} EUR</dl>`);
    expect(verdict((await check(again)).html)).toBe('holds');
  });

  it('does not order what held a moment ago, and shows what there is instead', async () => {
    const wish = await offer(ids.closing);
    const { date = '' } = wish;
    const { html } = await check(wish);
    sandbox
      .products()
      .find(({ id }) => id === ids.closing)
      ?.sold_out.add(date);
    const late = await both((shop) => shop.post('/order', formIn(html, '/order')));
    expect(verdict(late.html)).toBe('gone');
    expect(late.html).toMatch(/<ul class="hits instead"><li><a href="\/product\/\d+\?date=[\d-]+#slots">/);
    expect(cell((await page(`/product/${ids.closing}?date=${date}`)).html, date)?.[0]).toBe('sold_out');
  });

  it('refuses what is no order', async () => {
    const wish = await offer(ids.open);
    for (const wrong of [
      { count: '0' },
      { count: '-1' },
      { date: '2026-02-31' },
      { product: 'x' },
      { price: '' },
      { time: '9' },
    ])
      expect((await check({ ...wish, ...wrong })).status).toBe(400);
  });

  it('says that it cannot tell where nobody can, and orders nothing', async () => {
    const wish = await offer(ids.open);
    await sandbox.setReachable('no');
    const { html } = await check(wish);
    expect(verdict(html)).toBe('unknown');
    expect(html).toContain('Nothing was ordered.');
    expect(formIn(html, '/checkout')).toEqual(wish);
  });

  it('says the same with the daemon stopped, and every other page is as it was', async () => {
    const wish = await offer(ids.open);
    const path = `/product/${ids.open}?date=${wish.date}`;
    const before = await page(path);
    await daemon[Symbol.asyncDispose]();
    expect(await page(path)).toEqual(before);
    expect((await page('/?text=a')).status).toBe(200);
    expect(verdict((await check(wish)).html)).toBe('unknown');
    expect(verdict((await both((shop) => shop.post('/order', wish))).html)).toBe('unknown');
    for (const shop of shops) expect(shop.printed()).not.toMatch(/Warning|Deprecated|Fatal|Traceback/);
  });
});
