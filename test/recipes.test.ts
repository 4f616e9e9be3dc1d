import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../src/kernel/clock.ts';
import { otherWriter } from './fakes/other-writer.ts';
import { withdraw } from './fakes/planted.ts';
import { openReader } from './fakes/reader.ts';
import { productOf, putProducts } from './fakes/stored-products.ts';
import { temporaryDirectory, testMirror } from './fakes/test-mirror.ts';
import { filledHarness } from './fakes/virtual-harness.ts';
import { writeScripts } from './worlds/copies/script.ts';

/* Runs the scripts of docs/recipes.md. */

type Reader = ReturnType<typeof openReader>;
interface Page {
  readonly kind: 'product' | 'moved' | 'gone';
  readonly to?: string;
}
interface Shop {
  pathOf(product: object): string;
  idIn(address: string): number | null;
  pageOf(reader: Reader, address: string, language: string): Page;
  jsonLd(page: Page, origin: string): string;
  sitemap(reader: Reader, to: object): Map<string, string>;
}

async function shop(directory: string): Promise<Shop> {
  for (const page of ['docs/storefront.md', 'docs/recipes.md']) writeScripts(directory, page);
  return (await import(pathToFileURL(join(directory, 'shop.mjs')).href)) as Shop;
}

const origin = 'https://shop.example';

describe('shop.mjs of docs/recipes.md', () => {
  it('finds a product by the number at the end of an address, and redirects from any address but the current one', async () => {
    using directory = temporaryDirectory();
    const { pathOf, idIn, pageOf } = await shop(directory.path);
    using test = testMirror();
    // The service gives two products one slug.
    const document = JSON.stringify({ product_slug: 'tower & park' });
    const own = JSON.stringify({ product_slug: 'palace-p1234' });
    putProducts(test, [productOf(1, { document }), productOf(2, { document }), productOf(3)]);
    putProducts(test, [productOf(234, { document: own }), productOf(1234, { document: own })]);
    using reader = openReader(test.path);
    const paths = [1, 2, 3, 234, 1234].map((id) => pathOf(reader.product(id) ?? {}));
    expect(paths).toEqual([
      '/en/tickets/tower%20%26%20park-1',
      '/en/tickets/tower%20%26%20park-2',
      '/en/tickets/3',
      '/en/tickets/palace-p1234-234',
      '/en/tickets/palace-p1234',
    ]);
    expect(pageOf(reader, 'tower & park-2', 'en')).toMatchObject({ kind: 'product', product: { product_id: 2 } });
    expect(pageOf(reader, 'an-old-name-2', 'en')).toEqual({ kind: 'moved', to: paths[1] });
    expect(pageOf(reader, '3', 'en').kind).toBe('product');
    for (const none of ['', 'tower', '-', '9'.repeat(30), 'tower-0', '../etc']) expect(idIn(none), none).toBeNull();
    for (const none of ['', 'tower-99']) expect(pageOf(reader, none, 'en')).toEqual({ kind: 'gone', known: false });
    withdraw(test, 1, systemClock.now());
    expect(pageOf(reader, 'tower & park-1', 'en')).toEqual({ kind: 'moved', to: paths[1] });
  });

  it('writes JSON-LD with the price that is printed and every image’s credit, which no text can break out of', async () => {
    using directory = temporaryDirectory();
    const { pathOf, pageOf, jsonLd } = await shop(directory.path);
    await using harness = await filledHarness({ products: 40 });
    using reader = openReader(harness.daemon.config.mirror.path, { now: harness.clock.now });
    const shown = reader.products({ limit: 20 }).filter(({ product_id }) => reader.images(product_id).length > 0);
    for (const product of shown) {
      const path = pathOf(product);
      const page = pageOf(reader, decodeURIComponent(path.split('/').at(-1) ?? ''), 'en');
      const text = jsonLd({ ...page, product: { ...product, title: '</script><b>' } } as never, origin);
      expect(text).not.toContain('<');
      const data = JSON.parse(text) as { image: object[]; offers?: { price: string } };
      expect(data).toMatchObject({ '@id': origin + path, name: '</script><b>', sku: String(product.product_id) });
      expect(data.image).toMatchObject(
        reader.images(product.product_id).map(({ credit }) => (credit === null ? {} : { creditText: credit })),
      );
      const price = product.sellable === 1 ? (product.lowest_adult_price ?? product.from_price) : null;
      expect(data.offers?.price).toBe(price === null ? undefined : (price / 100).toFixed(2));
    }
    expect(shown.length).toBeGreaterThan(10);
  });

  it('lists each product once a language that has a text of it, divided into files of a sitemap', async () => {
    using directory = temporaryDirectory();
    const { sitemap } = await shop(directory.path);
    using test = testMirror();
    putProducts(test, [productOf(1, { city_name: 'Köln & Bonn' }), productOf(2)]);
    putProducts(test, [productOf(1, { title: 'Toren', city_name: 'Keulen' })], { language: 'nl' });
    using reader = openReader(test.path);
    const files = sitemap(reader, { origin, languages: ['en', 'nl'], perFile: 3 });
    expect([...files.keys()]).toEqual(['sitemap-1.xml', 'sitemap-2.xml', 'sitemap.xml']);
    const places = [...files.values()].flatMap((xml) => [...xml.matchAll(/<loc>(.*?)<\/loc>/g)].map(([, loc]) => loc));
    expect(places).toEqual([
      ...['/en/tickets/1', '/nl/tickets/1', '/en/tickets/2', '/en/cities/koln-bonn-1', '/nl/cities/keulen-1'],
      ...['/sitemap-1.xml', '/sitemap-2.xml'],
    ].map((path) => origin + path)); // biome-ignore format: one list
    expect(files.get('sitemap-1.xml')).toContain('hreflang="nl" href="https://shop.example/nl/tickets/1"');
  });
});

/** Members that OCTO requires of a product and of an availability, by its types (`@octocloud/types`). */
const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00[+-]\d\d:\d\d$/);
const price = z.object({
  original: z.int(),
  retail: z.int().nonnegative(),
  net: z.null(),
  currency: z.string().length(3),
  currencyPrecision: z.int(),
  includedTaxes: z.array(z.never()),
});
const octoProduct = z.object({
  id: z.string().min(1),
  internalName: z.string().min(1),
  locale: z.string(),
  timeZone: z.string(),
  availabilityType: z.enum(['START_TIME', 'OPENING_HOURS']),
  redemptionMethod: z.enum(['DIGITAL', 'PRINT']),
  options: z.tuple([
    z.object({
      cancellationCutoff: z.string(),
      cancellationCutoffAmount: z.int().nonnegative(),
      availabilityLocalStartTimes: z.array(z.string().regex(/^\d\d:\d\d$/)),
      units: z
        .array(z.object({ id: z.string(), internalName: z.string(), type: z.string(), pricingFrom: z.array(price) }))
        .min(1),
    }),
  ]),
  features: z.array(z.object({ type: z.string(), shortDescription: z.string().min(1) })),
  media: z.array(z.object({ src: z.url(), rel: z.enum(['COVER', 'GALLERY']), copyright: z.string().nullable() })),
});
const octo = z.object({
  products: z.array(octoProduct),
  availability: z.record(
    z.string(),
    z
      .array(
        z.object({
          localDateTimeStart: instant,
          localDateTimeEnd: instant,
          utcCutoffAt: z.iso.datetime(),
          status: z.enum(['AVAILABLE', 'LIMITED']),
          vacancies: z.int().nullable(),
          unitPricing: z.array(price.extend({ unitId: z.string() })),
        }),
      )
      .min(1),
  ),
});

describe('octo.mjs of docs/recipes.md', () => {
  it('prints in OCTO what is on sale, but no product whose marketing is restricted, and has fewer than 100 lines', async () => {
    using directory = temporaryDirectory();
    writeScripts(directory.path, 'docs/recipes.md');
    await using harness = await filledHarness({ products: 40 });
    const { path } = harness.daemon.config.mirror;
    const policies = [
      ['before_date', 24, 48],
      ['before_timeslot', 2, 2],
      ['before_date', 0, 8784],
      ['before_timeslot', 0, 8784],
      ['before_date', null, 8784],
      ['before_timeslot', null, 8784],
      ['never', 24, 8784],
      [null, null, 8784],
    ] as const;
    const writer = otherWriter(path);
    for (const [index, [policy, window]] of policies.entries())
      writer
        .prepare('UPDATE product SET cancellation_policy = ?, cancellation_window = ? WHERE product_id % 8 = ?')
        .run(policy, window, index);
    writer.close();
    const script = join(directory.path, 'octo.mjs');
    const printed = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', script, path, '10'], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { products, availability } = octo.parse(JSON.parse(printed));
    using reader = openReader(path);
    const rows = reader.products({ limit: 1000 });
    const open = rows.filter(({ sellable, timezone }) => sellable === 1 && timezone !== null);
    const free = open.filter(({ marketing_restrictions }) => marketing_restrictions === null);
    expect(free.length).toBeLessThan(open.length);
    const to = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
    const dated = free.filter(({ product_id, venue_today: from }) =>
      reader.calendar(product_id, { from: from ?? to, to }).some(({ state }) => state === 'available'),
    );
    expect(products.map(({ id }) => Number(id))).toEqual(dated.map(({ product_id }) => product_id));
    expect(new Set(products.map(({ availabilityType }) => availabilityType)).size).toBe(2);
    for (const { id, options } of products) {
      expect(options[0].cancellationCutoffAmount).toBe(policies[Number(id) % 8]?.[2]);
      const found = Object.values(availability[id] ?? {}).flatMap(({ unitPricing }) => unitPricing);
      expect(options[0].units.map((unit) => unit.id)).toEqual(
        expect.arrayContaining([...new Set(found.map(({ unitId }) => unitId))]),
      );
    }
  });
});
