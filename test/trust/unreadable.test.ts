import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { CheckDesk } from '../../src/desk/check.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { FaultRule } from '../../src/sandbox/rough/faults.ts';
import { askOwnReads } from '../../src/schedule/deciding-reads.ts';
import { noticedIn } from '../fakes/noticed.ts';
import { makeDue } from '../fakes/planted.ts';
import { bookableDays, readAgain } from '../fakes/shown-rows.ts';
import { someOf } from '../fakes/thorough.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

const minute = 60_000;
const hour = 60 * minute;
const never = new AbortController().signal;

/** From now on a member is spelt otherwise, and everything of a resource is read again. */
async function respelt(
  harness: VirtualHarness,
  resource: 'availability' | 'products',
  fault: Omit<FaultRule, 'kind'>,
): Promise<void> {
  harness.sandbox.faults.add({ kind: 'respelt', ...fault });
  await readAgain(harness, [resource]);
}

const members = ({ daemon }: VirtualHarness) => daemon.mirror.evidence.unread.members();

/** A date of a product that can be bought, and a time and variant of it. */
function shown(harness: VirtualHarness) {
  const [slot] = harness.rows<{
    product_id: number;
    date: string;
    time: string;
    variant_id: number;
    retail_price: number;
  }>(`SELECT s.product_id, s.date, time, variant_id, retail_price FROM availability_slots s JOIN bookable_days d USING (product_id, date, currency)
     WHERE retail_price > 0 AND s.max_tickets > 0 AND s.date > date('now', '+2 days') ORDER BY s.date LIMIT 1`);
  if (slot === undefined) throw new Error('nothing is for sale');
  return slot;
}

/** A product of a city whose dates can be bought. */
function shownProduct(harness: VirtualHarness, city_id: number): number | undefined {
  const sql = `SELECT product_id FROM bookable_days JOIN products USING (product_id) WHERE city_id = ${city_id} LIMIT 1`;
  return harness.rows<{ product_id: number }>(sql)[0]?.product_id;
}

async function check(harness: VirtualHarness) {
  const { product_id, date, time, variant_id } = shown(harness);
  await using desk = new CheckDesk(harness.daemon);
  const asked = { product_id, date, time, variants: [{ variant_id, count: 1 }] };
  return await harness.drive(desk.check(asked, never));
}

describe('a new spelling that cannot be read', () => {
  const respellings = someOf([
    ['dates[].availability', '"many"'],
    ['dates[].timeslots[].time', '"noon"'],
    ['dates[].timeslots[].variants[].max_tickets', '"some"'],
    ['dates[].timeslots[].variants[].price_mediation.total_retail_price_incl_vat', '"dear"'],
    ['sales_enabled', '"maybe"'],
  ] as const);
  it.each(respellings)(
    'of %s closes no shop: the reads fail, what was shown stays, as stale, and it is named',
    async (member, body) => {
      await using harness = await filledHarness({ products: 24 });
      const before = bookableDays(harness);
      await respelt(harness, 'availability', { path: '/availability', member, body });
      const after = bookableDays(harness);
      expect(after.days).toBeGreaterThan(0.7 * before.days);
      expect(after.stale).toBeGreaterThan(0.7 * after.days);
      const found = members(harness).find((each) => each.member === member);
      expect(found).toMatchObject({ resource: 'availability', example: body });
      expect(found?.kept).toBeGreaterThan(0.8 * (found?.able ?? 0));
      expect(await check(harness)).toMatchObject({ verdict: 'unknown', reasons: ['unreadable'] });

      harness.sandbox.faults.clear();
      await harness.live(26 * hour);
      expect(members(harness)).toEqual([]);
      expect(bookableDays(harness)?.stale).toBe(0);
    },
  );
});

describe('a date whose count cannot be read', () => {
  it('of a first fill is for sale without a number, stale, and a check does not say that it holds', async () => {
    await using harness = await filledHarness({
      products: 6,
      quirks: { faults: [{ kind: 'respelt', member: 'dates[].availability', body: '"many"' }] },
    });
    const days = bookableDays(harness);
    expect(days?.days).toBeGreaterThan(50);
    expect(days?.stale).toBe(days?.days);
    expect(harness.rows("SELECT DISTINCT availability FROM availability_days WHERE state = 'available'")).toEqual([
      { availability: null },
    ]);
    expect(await check(harness)).toMatchObject({ verdict: 'unknown', reasons: ['unreadable'] });
    expect(members(harness)).toMatchObject([{ member: 'dates[].availability', kept: 0, example: '"many"' }]);
  });
});

it('a check is answered as usual while the mirror cannot be written, although a member of the answer cannot be read', async () => {
  await using harness = await filledHarness({ products: 24 });
  harness.daemon.writer.serve();
  const began = harness.clock.now();
  const { faults } = harness.sandbox;
  const respell = (member: string, body: string) =>
    faults.add({ kind: 'respelt', path: '/availability', member, body });
  respell('dates[].timeslots[].timezone', '"Pacific/Kiritimati"');
  using other = new DisposableStack();
  other.adopt(new Database(harness.daemon.config.mirror.path), (db) => void db.close()).exec('BEGIN IMMEDIATE');
  expect(await check(harness)).toMatchObject({ verdict: 'holds' });
  respell('dates[].timeslots[].time', '"noon"');
  expect(await check(harness)).toMatchObject({ verdict: 'unknown', reasons: ['unreadable'] });
  expect(harness.clock.now() - began).toBeLessThan(2000);
});

describe('a new spelling of the list that cannot be read', () => {
  const respellings = someOf([
    ['sale_status', '"open"'],
    ['price', '"dear"'],
    ['images[].credit', '{"id":7}'],
  ] as const);
  it.each(respellings)('of %s takes nothing from what is shown', async (member, body) => {
    await using harness = await filledHarness({ products: 24 });
    const sql =
      'SELECT (SELECT count(*) FROM products WHERE sellable = 1 AND from_price > 0) AS products, (SELECT count(*) FROM images) AS images';
    const [before] = harness.rows<{ products: number; images: number }>(sql);
    await respelt(harness, 'products', { path: '/products(/\\d+)?(\\?|$)', member, body });
    const [after] = harness.rows<{ products: number; images: number }>(sql);
    expect(after?.products).toBeGreaterThan(0.7 * (before?.products ?? 0));
    expect(after?.images).toBeGreaterThan(0.7 * (before?.images ?? 0));
    expect(members(harness).map((each) => each.member)).toContain(member);
  });
});

/** From now on answers are changed as text, and the lists are read again. */
async function changed(harness: VirtualHarness, path: RegExp, change: (body: string) => string): Promise<void> {
  const { faults } = harness.sandbox;
  const lied = faults.lied.bind(faults);
  faults.lied = (method, address, body) => {
    const said = lied(method, address, body);
    return path.test(address) ? change(said) : said;
  };
  await readAgain(harness, ['products']);
}

describe('a row of experiences or tags', () => {
  const counts = (harness: VirtualHarness) =>
    harness.rows<{
      titles: number;
      prices: number;
      names: number;
      experiences: number;
      tags: number;
    }>(`SELECT (SELECT count(*) FROM experiences) AS titles, (SELECT count(from_price) FROM experiences) AS prices,
        (SELECT count(name) FROM tags) AS names,
        (SELECT sum(stale) FROM experiences) AS experiences, (SELECT sum(stale) FROM tags) AS tags`)[0];
  it('keeps what it showed, as stale, while too many of the list cannot be read, and is named', async () => {
    await using harness = await filledHarness({ products: 24 });
    const before = counts(harness);
    expect(before).toMatchObject({ experiences: 0, tags: 0 });
    await respelt(harness, 'products', { path: '/(experiences|tags)', member: 'title', body: '7' });
    await respelt(harness, 'products', { path: '/(experiences|tags)', member: 'name', body: '7' });
    const after = counts(harness);
    expect(after?.titles).toBeGreaterThanOrEqual((before?.titles ?? 0) - 1);
    expect(after?.experiences).toBeGreaterThanOrEqual((before?.titles ?? 0) - 1);
    expect(after?.names).toBeGreaterThan(0.85 * (before?.names ?? 0));
    expect(after?.tags).toBeGreaterThan(0.85 * (before?.names ?? 0));
    expect(members(harness)).toMatchObject([
      { resource: 'tags', member: 'name', example: '7' },
      { resource: 'experiences', member: 'title', example: '7' },
    ]);

    harness.sandbox.faults.clear();
    await readAgain(harness, ['products']);
    expect(members(harness)).toEqual([]);
    expect(counts(harness)).toEqual(before);
  });
});

describe('the zone of a product', () => {
  it('that alone cannot be read is that of its city, and a contradiction of its timeslots is named', async () => {
    await using harness = await filledHarness({ products: 24 });
    const products = harness.rows<{ product_id: number; city_id: number; timezone: string }>(
      "SELECT product_id, city_id, timezone FROM products WHERE language = 'en'",
    );
    const found = products.find(
      ({ product_id, city_id, timezone }) =>
        timezone !== null &&
        products.filter((each) => each.city_id === city_id).length > 1 &&
        products.every((each) => each.city_id !== city_id || each.timezone === timezone) &&
        product_id === shownProduct(harness, city_id),
    );
    if (found === undefined) throw new Error('no city has two products');
    const { product_id, timezone } = found;
    const lied = harness.sandbox.faults.lied.bind(harness.sandbox.faults);
    await changed(harness, /\/products(\/\d+)?(\?|$)/, (body) =>
      JSON.stringify(JSON.parse(body), function (this: { id?: unknown }, name, value) {
        return name === 'timezone' && Number(this.id) === product_id ? 'Mars/Phobos' : value;
      }),
    );
    expect(harness.rows(`SELECT DISTINCT timezone FROM products WHERE product_id = ${product_id}`)).toEqual([
      { timezone },
    ]);
    expect(members(harness)).toContainEqual(
      expect.objectContaining({ resource: 'products', member: 'timezone', id: product_id, kept: 0 }),
    );
    harness.sandbox.faults.lied = lied;
    await readAgain(harness, ['products']);

    const path = `/products/${product_id}/availability`;
    await respelt(harness, 'availability', {
      path,
      member: 'dates[].timeslots[].timezone',
      body: '"Pacific/Kiritimati"',
    });
    expect(members(harness)).toContainEqual(
      expect.objectContaining({ member: 'dates[].timeslots[].timezone', id: product_id, kept: 0 }),
    );
  });
});

describe('an unknown word for the rights of an image', () => {
  it.each([
    ['products', /\/products(\/\d+)?(\?|$)/],
    ['experiences', /\/experiences/],
  ])('in all %s is named, hides no image, and fails no read', async (resource, path) => {
    await using harness = await filledHarness({ products: 24 });
    const sql = `SELECT (SELECT count(*) FROM images) AS images, (SELECT count(*) FROM experience_images) AS others,
      (SELECT sum(stale) FROM products) AS products, (SELECT sum(stale) FROM experiences) AS experiences`;
    const before = harness.rows(sql);
    await changed(harness, path, (body) => body.replaceAll('"alt_text":', '"status":"featured","alt_text":'));
    expect(harness.rows(sql)).toEqual(before);
    const found = members(harness).find((each) => each.resource === resource);
    expect(found).toMatchObject({ member: 'images[].status (unknown word)', example: '"featured"', kept: 0 });
    expect(found?.records).toBeGreaterThan(1);
  });
});

describe('a member that can be read, and that a person has to know of', () => {
  it.each([
    ['price', '-5', 'price (below zero)', 'prices-refused'],
    ['images[].large', '"http://10.0.0.1/a.jpg"', 'images[].large (not public)', 'images-refused'],
  ] as const)(
    '%s of %s in all products fails no read, and is a condition of its own',
    async (member, body, name, code) => {
      await using harness = await filledHarness({ products: 24 });
      await respelt(harness, 'products', { path: '/products(/\\d+)?(\\?|$)', member, body });
      const found = members(harness).filter((each) => each.member === name);
      expect(found.map(({ resource }) => resource).sort()).toEqual(['product_detail', 'products']);
      expect(found.every(({ kept, records }) => kept === 0 && records > 5)).toBe(true);
      const noticed = () => noticedIn(harness.daemon.config.mirror.path, harness.clock.now());
      expect(noticed()).toContain(code);

      harness.sandbox.faults.clear();
      await readAgain(harness, ['products']);
      expect(noticed()).not.toContain(code);
    },
  );

  it('is no address that ends too soon, once any read has brought others', async () => {
    await using harness = await filledHarness({ products: 6 });
    const { daemon, sandbox } = harness;
    const ending = () => members(harness).filter(({ member }) => member === 'images[] (ends too soon)');
    sandbox.faults.add({ kind: 'respelt', path: '/products\\?', member: 'images[].large', as: 'signed' });
    const list = { resource: 'products', product_id: 0, edition: 'en/EUR', part: 0 } as const;
    makeDue(harness, [list], { at: instant(0), reason: 'requested' });
    await harness.live(minute);
    expect(ending()).toMatchObject([{ resource: 'products', kept: 0 }]);
    const ids = sandbox.products().map(({ id }) => id);
    daemon.mirror.transaction(() => askOwnReads(daemon.sync, ids, 'requested'));
    await harness.live(minute);
    expect(ending()).toEqual([]);
  });
});
