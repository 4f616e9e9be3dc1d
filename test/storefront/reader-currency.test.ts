import { afterAll, beforeAll, expect, it } from 'vitest';
import { openReader } from '../fakes/reader.ts';
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
