import type { Experience } from '../../src/catalogue/experience.rules.ts';
import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';

const edition = { language: 'en', currency: 'EUR' };

/** A product as a read of the list brings it. */
export function productOf(product_id: number, given: Partial<ProductEntry> = {}): ProductEntry {
  return {
    product_id, title: `Tower ${product_id}`, tagline: null, sale_status: 'enabled', disabled_reason: null,
    expected_reopening: null, from_price: 900, city_id: 1, city_name: 'Amsterdam', country_id: 1, country_name: 'Netherlands',
    venue_id: 5, latitude: 52.37, longitude: 4.9, timezone: 'UTC', rating: 4.5, tag_ids: [], images: [], document: '{}',
    ...given,
  }; // biome-ignore format: one product
}

/** An experience as the list brings it. */
export function experienceOf(experience_id: number, given: Partial<Experience> = {}): Experience {
  return {
    experience_id, title: `Venue ${experience_id}`, tagline: null, description: null, images: null, url: null, address: null, city_name: null, country_name: null,
    latitude: null, longitude: null, rating: null, rating_count: null, from_price: null, product_ids: [], document: '{}',
    ...given,
  }; // biome-ignore format: one experience
}

/** Stores products as one page of the list in the primary language, or another one. */
export function putProducts(
  { mirror }: { readonly mirror: Mirror },
  entries: readonly ProductEntry[],
  { sent_at = Date.now(), language = 'en', source = 'list' as 'list' | 'detail' } = {},
): void {
  mirror.transaction(() => {
    if (language !== edition.language) mirror.catalogue.languages.write([edition.language, language]);
    for (const entry of entries)
      mirror.catalogue.products.store(entry, {
        source,
        reason: 'never-fetched',
        language,
        currency: edition.currency,
        primary: edition,
        sent_at: instant(sent_at),
        now: instant(sent_at),
        stale_at: instant(sent_at + 3_600_000),
      });
  });
}
