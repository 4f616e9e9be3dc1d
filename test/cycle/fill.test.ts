import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { kind } from '../../src/sandbox/rough/quirks.ts';
import { readCatalogue } from '../../src/sandbox/world/catalogue-file.ts';
import { needs } from '../fakes/needs.ts';
import { otherWriter } from '../fakes/other-writer.ts';
import { thorough } from '../fakes/thorough.ts';
import { sharedData } from '../fakes/tools.ts';
import { virtualHarness } from '../fakes/virtual-harness.ts';
import { columnsOf, tables } from '../mirror/contract/tables.ts';
import { type ComparedView, comparedViews } from '../oracle/expected.ts';
import type { Comparison } from '../oracle/oracle.ts';
import { type ComparedPlace, comparedPlaces } from '../oracle/places.ts';

/** As many as are asked for: `CATALOGUED_TEST_PRODUCTS=600 npx vitest run --config test/vitest.config.ts fill`. */
const products = Number(process.env.CATALOGUED_TEST_PRODUCTS ?? 120);

it(
  'a fill on a bad day ends with the service and the mirror equal, and no call to what told us to wait',
  needs('time'),
  async () => {
    await using harness = await virtualHarness(
      { products, throttle: { per_second: 15 }, drift: 0.5, faults: [{ kind: 'any', of: 'answers', share: 0.05 }] },
      { budget: { requests_per_second: 30, concurrency: 4 } },
    );
    await harness.fill();
    const comparison = await harness.compare();
    expect(comparison.first).toEqual([]);
    expect(comparison.products).toBe(products);
    expect(comparison.rows.availability_slots).toBeGreaterThan(10_000);
    expect(harness.sandbox.violations()).toBe(0);
    const { calls, by_status } = harness.sandbox.calls.counts();
    expect(by_status['429']).toBeGreaterThan(0);
    if (products >= 600) process.stdout.write(`${JSON.stringify({ calls, by_status, rows: comparison.rows })}\n`);
  },
);

it('so does a fill of real products, and of a recorded answer', needs('data', 'time'), async () => {
  const read = (name: string) => readCatalogue(join(fileURLToPath(sharedData), name));
  const recorded = read('recorded-product_nl_eur.json');
  const others = read('catalogue-sample.json').filter(({ id }) => id !== recorded[0]?.id);
  const catalogue = [...recorded, ...others.filter((_, index) => products >= 600 || index % 12 === 0)];
  await using harness = await virtualHarness({ catalogue });
  await harness.fill();
  const comparison = await harness.compare();
  expect(comparison.first).toEqual([]);
  expect(comparison.products).toBe(catalogue.length);
  if (products >= 600) process.stdout.write(`${JSON.stringify(comparison.rows)}\n`);
});

/** Columns that may be NULL and were only so, or never, in the rows of a comparison. */
function oneWay({ rows, seen }: Comparison): string[] {
  const views = comparedViews.filter((view) => rows[view] !== 0);
  return views.flatMap((view) =>
    columnsOf(view)
      .filter(([, column]) => column.null !== undefined)
      .flatMap(([column]) => {
        const { empty, filled } = seen[view][column] ?? { empty: 0, filled: 0 };
        return [
          ...(empty === 0 ? [`${view}.${column} is never NULL`] : []),
          ...(filled === 0 ? [`${view}.${column} is never filled`] : []),
        ];
      }),
  );
}

/** What a fill from the sandbox shows in one way only, and where the other is asked for. */
const elsewhere = {
  'products.alternative_product_id is never filled': 'only a notification says it: test/push/apply.test.ts',
  'images.file is never filled': 'only with images.files: test/catalogue/image-files.test.ts',
  'availability_slots.commission is never filled': 'only with mirror.commission: test/service/decode.test.ts',
};

it('a fill brings rows of every view, with every column that may be NULL both so and filled, where no other test asks', async () => {
  await using harness = await virtualHarness({ products: 60, quirks: { ...kind, hostile_values: 0.2 } });
  for (const product of harness.sandbox.world.visible().slice(0, 4)) product.bare = true;
  await harness.fill();
  const comparison = await harness.compare();
  expect(comparison.first).toEqual([]);
  expect(comparedViews.filter((view) => comparison.rows[view] === 0)).toEqual(['withdrawn_products']);
  expect(oneWay(comparison).sort()).toEqual(Object.keys(elsewhere).sort());
});

/** Tables and views that no answer of the service is compared with, and where another test asks for their rows. */
const notCompared = {
  alternatives: 'only a notification recommends another product: test/push/notified.test.ts',
  languages: 'of the configuration: test/catalogue/languages.store.test.ts',
  currencies: 'of the configuration: test/storefront/reader-currency.test.ts',
  changes: 'test/files/copies.test.ts',
  policies: 'test/schedule/policies.store.test.ts',
  freshness: 'the comparison asks whether each target is met',
  subscriptions: 'test/push/subscriptions.test.ts',
  availability_error_rate: 'test/dates/off-sale-answers.test.ts',
  mirror_info: 'the comparison asks whether the mirror is filled',
};

it('every table and view of the contract is compared with the service, or another test asks for it', () => {
  const compared: readonly string[] = [...comparedViews, ...comparedPlaces];
  expect([...compared, ...Object.keys(notCompared)].sort()).toEqual(Object.keys(tables).sort());
});

const first = '(SELECT min(product_id) FROM _product WHERE sellable)';
const planted: Readonly<Record<ComparedView | ComparedPlace | 'freshness' | 'mirror_info', string>> = {
  products: `UPDATE product SET tagline = 'forged' WHERE product_id = ${first}`,
  product_prices: `UPDATE price SET from_price = from_price + 1 WHERE product_id = ${first}`,
  product_tags: `DELETE FROM product_tags WHERE product_id = ${first}`,
  product_experiences: `UPDATE _product SET venue_id = 1 WHERE product_id = ${first}`,
  experiences: `UPDATE _experience SET from_price = 1 WHERE experience_id = (SELECT max(venue_id) FROM _product WHERE sellable)`,
  tags: `UPDATE _tag SET name = 'forged' WHERE tag_id = (SELECT min(tag_id) FROM _tag)`,
  experience_images: `UPDATE _experience SET images = replace(images, 'Harbour', 'Other') WHERE images LIKE '%Harbour%'`,
  cities: `UPDATE _product_text SET city_name = 'forged' WHERE product_id = ${first}`,
  countries: `UPDATE _product SET country_id = 1 WHERE product_id = ${first}`,
  checkout_information: `UPDATE checkout SET good_to_know = 'forged' WHERE product_id = ${first}`,
  variants: `UPDATE _variant SET merged_document = '{}' WHERE product_id = ${first}`,
  images:
    'UPDATE image SET credit = lower(credit) WHERE image_key = (SELECT min(image_key) FROM image WHERE credit IS NOT NULL)',
  availability_days: `UPDATE day SET max_tickets = 99 WHERE product_id = ${first} AND state = 'available'`,
  bookable_days: `DELETE FROM date_window WHERE window_id = (SELECT window_id FROM date_window WHERE product_id = ${first} ORDER BY from_date DESC LIMIT 1)`,
  availability_slots: `UPDATE slot_day SET slots = json_set(slots, '$[0][2][0][2]', 1) WHERE product_id = ${first} AND date = (SELECT date FROM day WHERE product_id = ${first} AND from_at = 0 AND state = 'available' ORDER BY date LIMIT 1 OFFSET 2)`,
  freshness: 'UPDATE _record SET stale_at = 0 WHERE product_id > 0',
  withdrawn_products: `UPDATE _product SET withdrawn_at = 1 WHERE product_id = ${first}`,
  mirror_info: 'UPDATE _mirror SET filled_at = NULL',
};

it('the oracle finds every planted difference, whichever view it shows in', async () => {
  await using harness = await virtualHarness({ products: 30 });
  await harness.fill();
  const clean = await harness.compare();
  expect(clean).toMatchObject({ differences: 0, first: [] });
  const writer = otherWriter(harness.daemon.config.mirror.path);
  // Nothing of it is bare: what may be left out never is.
  expect(oneWay(clean)).toEqual(expect.arrayContaining(['products.tagline is never NULL']));
  let differences = 0;
  const tried = Object.entries(planted).filter((_, index) => thorough || index % 3 === 0);
  for (const [view, sql] of tried) {
    expect(writer.prepare(sql).run().changes, view).toBeGreaterThan(0);
    const now = (await harness.compare()).differences;
    expect(now, view).not.toBe(differences);
    differences = now;
  }
  writer.close();
});
