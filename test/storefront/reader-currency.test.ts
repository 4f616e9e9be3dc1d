import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { minorUnitExponent } from '../../src/domain/values/money.ts';
import { openReader } from '../../src/storefront/reader.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';

/** Every price that a reader returns, by where it comes from, with its currency. */
function pricesOf(path: string, product_id: number, options: { currency?: string }) {
  using reader = openReader(path, options);
  const dates = { from: '2026-11-25', to: '2026-12-10' };
  const product = reader.product(product_id);
  const hits = reader.find().hits.find((hit) => hit.product_id === product_id);
  const onDates = reader.find(dates).hits.find((hit) => hit.product_id === product_id);
  const listed = reader.products().find((row) => row.product_id === product_id);
  const searched = reader.search({ city_id: product?.city_id ?? 0 }).find((hit) => hit.product_id === product_id);
  const cheapest = reader.cheapest(product_id);
  const day = reader.calendar(product_id, dates).find(({ state }) => state === 'available');
  const most = hits?.price ?? 0;
  return {
    product: [product?.from_price, product?.lowest_price, product?.lowest_adult_price, product?.price_variant_type],
    listed: [listed?.from_price, listed?.lowest_price, listed?.lowest_adult_price, listed?.price_variant_type],
    found: hits?.price,
    on_dates: onDates?.price,
    searched: searched?.price,
    cheapest: cheapest?.lowest_adult_price,
    day: day?.lowest_adult_price,
    filtered: [most, most - 1].map((max_price) => reader.find({ max_price }).hits.some((hit) => hit.product_id === product_id)),
    listed_by_price: reader.products({ max_price: most - 1 }).some((row) => row.product_id === product_id),
    bands: reader.find({ facets: true }).facets?.price.map(({ id }) => id),
    currencies: new Set([product, listed, hits, onDates, searched, cheapest, day].map((row) => row?.currency)),
  }; // biome-ignore format: one row each
}

it('a reader opened with a currency shows it everywhere: products, lists, searches, filters, facets, calendars', async () => {
  await using harness = await virtualHarness({ products: 12 }, { service: { currencies: ['EUR', 'JPY'] } });
  const { mirror } = harness.wiring;
  await harness.runUntil(() => mirror.filledAt() !== null);
  const open = harness.sandbox.world
    .visible()
    .find(({ status, price, variants }) => status === 'available' && price > 0 && variants[0]?.type === 'adult');
  const product_id = open?.id ?? 0;
  const euros = pricesOf(mirror.path, product_id, {});
  const yen = pricesOf(mirror.path, product_id, { currency: 'JPY' });
  expect(euros.currencies).toEqual(new Set(['EUR']));
  expect(yen.currencies).toEqual(new Set(['JPY']));
  // 160 yen for a euro, and no decimals: 1.6 of one's smallest unit for one of the other.
  const near = (amount: unknown) => expect.closeTo(Number(amount) * 1.6, 0) as number;
  const [, , , type] = euros.product;
  expect(yen).toMatchObject({
    product: [...euros.product.slice(0, 3).map(near), type],
    listed: yen.product,
    found: near(euros.found),
    on_dates: near(euros.on_dates),
    searched: near(euros.searched),
    cheapest: near(euros.cheapest),
    day: near(euros.day),
    filtered: [true, false],
    listed_by_price: false,
  });
  expect(yen.found).toBe(yen.product[2]);
  expect(yen.bands).not.toEqual(euros.bands);
  using reader = openReader(mirror.path, { currency: 'JPY' });
  expect(reader.product(product_id, { currency: 'EUR' })?.from_price).toBe(euros.product[0]);
  expect(reader.currencies()).toEqual([
    { currency: 'EUR', is_primary: 1, exponent: 2 },
    { currency: 'JPY', is_primary: 0, exponent: 0 },
  ]);
  expect(() => openReader(mirror.path, { currency: 'USD' })).toThrow(/"USD" is not mirrored/);
});

it('the decimals of every currency are those of ISO 4217, which the runtime has wrong for several', () => {
  using test = testMirror();
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `${a}${b}${c}`)));
  const known = codes.filter((code) => minorUnitExponent(code) !== null);
  const writer = new Database(test.mirror.path);
  const put = writer.prepare(
    "INSERT INTO record (resource, product_id, edition, part, due_at, due_reason) VALUES ('products', 0, ?, 0, 0, 'never-fetched')",
  );
  for (const code of known) put.run(`en/${code}`);
  writer.close();
  const rows = test.all<{ currency: string; exponent: number }>('SELECT currency, exponent FROM currencies');
  expect(rows.length).toBe(known.length);
  expect(rows).toEqual(rows.map(({ currency }) => ({ currency, exponent: minorUnitExponent(currency) })));
  // Control: a shop that asks the runtime divides by the wrong power of ten.
  const digits = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  const wrong = rows.filter(({ currency, exponent }) => digits(currency) !== exponent).map(({ currency }) => currency);
  expect(wrong).toEqual(expect.arrayContaining(['COP', 'HUF', 'IDR', 'IQD', 'LBP']));
});
