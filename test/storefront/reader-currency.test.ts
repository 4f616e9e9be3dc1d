import { afterAll, beforeAll, expect, it } from 'vitest';
import contract from '../../schema/contract.json' with { type: 'json' };
import { minorUnitExponent } from '../../src/domain/values/money.ts';
import type { Reader } from '../../src/storefront/reader.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { openReader } from '../fakes/reader.ts';
import { testMirror } from '../fakes/test-mirror.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

let harness: VirtualHarness;
beforeAll(async () => {
  harness = await filledHarness({ products: 24 }, { service: { currencies: ['EUR', 'JPY'] } });
});
afterAll(() => harness[Symbol.asyncDispose]());

/** Every price that a reader returns, by where it comes from, with its currency. */
function pricesOf(path: string, product_id: number, options: { currency?: string }) {
  using reader = openReader(path, { now: harness.clock.now, ...options });
  const dates = { from: '2026-11-25', to: '2026-12-10' };
  const product = reader.product(product_id);
  const hits = reader.search().hits.find((hit) => hit.product_id === product_id);
  const onDates = reader.search(dates).hits.find((hit) => hit.product_id === product_id);
  const listed = reader.products().find((row) => row.product_id === product_id);
  const searched = reader.exact({ city_id: product?.city_id ?? 0 }).find((hit) => hit.product_id === product_id);
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
    filtered: [most, most - 1].map((max_price) => reader.search({ max_price }).hits.some((hit) => hit.product_id === product_id)),
    listed_by_price: reader.products({ max_price: most - 1 }).some((row) => row.product_id === product_id),
    bands: reader.search({ facets: true }).facets?.price.map(({ id }) => id),
    currencies: new Set([product, listed, hits, onDates, searched, cheapest, day].map((row) => row?.currency)),
  }; // biome-ignore format: one row each
}

it('a reader opened with a currency shows it everywhere: products, lists, searches, filters, facets, calendars', () => {
  const { mirror } = harness.daemon.config;
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
  using reader = openReader(mirror.path, { currency: 'JPY', now: harness.clock.now });
  expect(reader.product(product_id, { currency: 'EUR' })?.from_price).toBe(euros.product[0]);
  expect(reader.currencies()).toEqual([
    { currency: 'EUR', is_primary: 1, exponent: 2 },
    { currency: 'JPY', is_primary: 0, exponent: 0 },
  ]);
  expect(() => openReader(mirror.path, { currency: 'USD' })).toThrow(/"USD" is not mirrored/);
});

type Priced = { readonly currency?: unknown } & Readonly<Record<string, unknown>>;

/** The columns that are prices, by what the contract says of them, and the price of a hit. */
const priceColumns = new Set([
  'price',
  ...Object.values(contract.views)
    .flatMap(({ columns }) => Object.entries<object>(columns))
    .filter(([, column]) => 'unit' in column && column.unit === 'minor units of currency')
    .map(([name]) => name),
]);

/** All that each function of a reader says in one currency. `prices` names every currency by itself. */
function allPriced(reader: Reader, product_ids: readonly number[], closed: number): Record<string, readonly object[]> {
  const dates = { from: '2026-11-25', to: '2026-12-10' };
  const [first = 0] = product_ids;
  const days = product_ids.flatMap((id) => reader.calendar(id, dates).filter(({ state }) => state === 'available'));
  const experiences = reader.experiences();
  return {
    product: product_ids.map((id) => reader.product(id) ?? {}),
    products: reader.products(),
    alternatives: reader.alternatives(closed),
    related: product_ids.flatMap((id) => reader.related(id)),
    experience: experiences.map(({ experience_id }) => reader.experience(experience_id) ?? {}),
    experiences: [...experiences, ...reader.experiences({ city_id: reader.product(first)?.city_id ?? 0 })],
    calendar: days,
    slots: days.flatMap(({ product_id, date }) => reader.slots(product_id, date)),
    cheapest: product_ids.flatMap((id) => reader.cheapest(id) ?? []),
    exact: [...reader.exact({ city_id: reader.product(first)?.city_id ?? 0 }), ...reader.exact({ date: '2026-11-27' })],
    search: [...reader.search().hits, ...reader.search(dates).hits, ...reader.search({ order: 'price' }).hits],
  };
}

/** Where a row says another currency than yen, or a price that is not 1.6 of a cent (parts are rounded apart); and what was seen not null. */
function wrongPrices(yen: Record<string, readonly object[]>, euros: Record<string, readonly object[]>) {
  const wrong = new Set<string>();
  const seen = new Set<string>();
  for (const [name, rows] of Object.entries(yen)) {
    rows.forEach((row, index) => {
      const inEuros = euros[name]?.[index] as Priced;
      const { currency, ...columns } = row as Priced;
      if (currency !== 'JPY') wrong.add(`${name}.currency`);
      for (const [column, price] of Object.entries(columns)) {
        if (!priceColumns.has(column) || price === null) continue;
        seen.add(`${name}.${column}`);
        if (Math.abs(Number(price) - Number(inEuros[column]) * 1.6) > 2) wrong.add(`${name}.${column}`);
      }
    });
  }
  return { wrong: [...wrong].sort(), seen };
}

it('every price of every function is in the currency that the reader was opened with, or null', () => {
  const { mirror } = harness.daemon.config;
  using inEuros = openReader(mirror.path, { now: harness.clock.now });
  using inYen = openReader(mirror.path, { currency: 'JPY', now: harness.clock.now });
  const ids = inEuros.products().map(({ product_id }) => product_id);
  // Closed by hand, so that the service recommends another instead.
  const [closed = 0, open = 0] = ids.filter((id) => inEuros.sellable(id));
  const writer = otherWriter(mirror.path);
  writer
    .prepare("UPDATE _product SET sale_status = 'disabled', alternative_product_id = ? WHERE product_id = ?")
    .run(open, closed);
  writer.prepare('INSERT INTO alternatives VALUES (?, ?)').run(closed, open);
  writer.close();
  const [euros, yen] = [inEuros, inYen].map((reader) => allPriced(reader, ids, closed)) as [
    Record<string, readonly object[]>,
    Record<string, readonly object[]>,
  ];
  const { wrong, seen } = wrongPrices(yen, euros);
  expect(wrong).toEqual([]);
  // Control: what a reader says that takes the primary currency for the one asked for.
  const control = wrongPrices(euros, euros);
  expect(control.wrong).toEqual(expect.arrayContaining(Object.keys(euros).map((name) => `${name}.currency`)));
  // The service prices experiences in the primary currency alone; commissions are not mirrored unless asked for.
  expect([...control.seen].filter((each) => !seen.has(each)).sort()).toEqual([
    'experience.from_price',
    'experiences.from_price',
  ]);
  // Every function of the reader that has a price is among them, and every price but commissions was seen.
  const priced = Object.entries(contract.reader).filter(([, fields]) =>
    fields.some((field) => priceColumns.has(field)),
  );
  expect(priced.map(([name]) => name).filter((name) => !(name in yen))).toEqual(['prices']);
  const columns = new Set([...seen].map((each) => each.split('.')[1]));
  expect([...priceColumns].filter((column) => !columns.has(column))).toEqual(['commission']);
});

it('the decimals of every currency are those of ISO 4217, which the runtime has wrong for several', () => {
  using test = testMirror();
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((a) => letters.flatMap((b) => letters.map((c) => `${a}${b}${c}`)));
  const known = codes.filter((code) => minorUnitExponent(code) !== null);
  test.mirror.transaction(() => {
    for (const code of known)
      test.mirror.schedule.records.createWalk({ resource: 'products', edition: `en/${code}`, part: 0, due_at: 0 });
  });
  const rows = test.all<{ currency: string; exponent: number }>('SELECT currency, exponent FROM currencies');
  expect(rows.length).toBe(known.length);
  expect(rows).toEqual(rows.map(({ currency }) => ({ currency, exponent: minorUnitExponent(currency) })));
  // Control: a shop that asks the runtime divides by the wrong power of ten.
  const digits = (currency: string) =>
    new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  const wrong = rows.filter(({ currency, exponent }) => digits(currency) !== exponent).map(({ currency }) => currency);
  expect(wrong).toEqual(expect.arrayContaining(['COP', 'HUF', 'IDR', 'IQD', 'LBP']));
});
