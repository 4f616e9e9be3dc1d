import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/sandbox.ts';
import { readCatalogue } from '../../src/sandbox/world/catalogue-file.ts';
import { needs } from '../fakes/needs.ts';
import { sharedData } from '../fakes/tools.ts';
import { filledHarness, type VirtualHarness } from '../fakes/virtual-harness.ts';

async function filled(options: Partial<SandboxOptions>): Promise<VirtualHarness> {
  const harness = await filledHarness(options);
  return harness;
}

/** What a shop may print beside what an adult pays at the times that are left of each date, from the views as they stand. */
const beside = `
WITH adult (product_id, date, price) AS (
  SELECT s.product_id, s.date, min(s.retail_price)
  FROM availability_slots s
  JOIN variants v ON v.product_id = s.product_id AND v.variant_id = s.variant_id AND v.language = 'en'
  JOIN bookable_days b ON b.product_id = s.product_id AND b.currency = s.currency AND b.date = s.date
  WHERE v.variant_type = 'adult' AND s.availability > 0 AND s.max_tickets > 0
  GROUP BY 1, 2
)
SELECT p.product_id, p.lowest_adult_price AS printed, p.price_variant_type AS type, p.from_price, p.lowest_price,
  (SELECT count(*) FROM bookable_days b WHERE b.product_id = p.product_id) AS dates,
  (SELECT min(a.price) FROM adult a WHERE a.product_id = p.product_id) AS least,
  (SELECT count(*) FROM adult a JOIN bookable_days b ON b.product_id = a.product_id AND b.date = a.date
    WHERE a.product_id = p.product_id AND (a.price < p.lowest_adult_price OR b.lowest_adult_price <> a.price)) AS above
FROM products p`;

interface Beside {
  readonly product_id: number;
  readonly printed: number | null;
  readonly type: string | null;
  readonly from_price: number | null;
  readonly lowest_price: number | null;
  readonly dates: number;
  readonly least: number | null;
  readonly above: number;
}

/** Products whose printed price is off, and all of them. */
function printedIn({ rows }: VirtualHarness): { readonly off: Beside[]; readonly all: Beside[] } {
  const all = rows<Beside>(beside);
  const off = all.filter(({ printed, type, dates, least, above }) =>
    least === null ? (printed === null) !== (dates === 0) || type === 'adult' : printed !== least || above > 0,
  );
  return { off, all };
}

it('the printed price of every product is the least that an adult pays, and above no date’s: 0 products off', async () => {
  await using harness = await filled({ products: 75 });
  const { off, all } = printedIn(harness);
  expect(off).toEqual([]);
  expect(all).toHaveLength(75);
  // What it is about is there: adults pay more than children, and of some products no adult can buy, or on no day.
  expect(all.filter(({ printed, lowest_price }) => (printed ?? 0) > (lowest_price ?? 0)).length).toBeGreaterThan(50);
  expect(all.map(({ type }) => type)).toEqual(expect.arrayContaining(['adult', 'senior', 'group', null]));
  // Control: the lowest price of a day, and the service's own, are above or below what an adult pays.
  expect(all.filter(({ least, lowest_price }) => least !== lowest_price).length).toBeGreaterThan(50);
  expect(all.filter(({ least, from_price }) => least !== null && least !== from_price).length).toBeGreaterThan(12);
  const writer = new Database(harness.daemon.config.mirror.path);
  writer.exec("UPDATE price SET lowest_adult_price = lowest_price WHERE price_variant_type = 'adult'");
  writer.close();
  expect(printedIn(harness).off.length).toBeGreaterThan(50);
});

it('so is that of the products of real data', needs('data', 'time'), async () => {
  const catalogue = readCatalogue(join(fileURLToPath(sharedData), 'catalogue-sample.json'));
  await using harness = await filled({ catalogue: catalogue.filter((_, index) => index % 8 === 0) });
  const { off, all } = printedIn(harness);
  expect(off).toEqual([]);
  expect(all).toHaveLength(75);
});
