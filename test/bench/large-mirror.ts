import type { ProductEntry } from '../../src/catalogue/product.rules.ts';
import type { AvailabilityAnswer, DayForm } from '../../src/dates/availability.rules.ts';
import { type Instant, instant } from '../../src/kernel/clock.ts';
import { addDays, datesBetween, venueToday } from '../../src/kernel/time/venue.ts';
import type { Mirror } from '../../src/mirror/mirror.ts';
import { type CalendarDay, calendarDay } from '../../src/sandbox/world/calendar.ts';
import { generateCatalogue, type SandboxProduct } from '../../src/sandbox/world/catalogue.ts';
import { productOf, putProducts } from '../fakes/stored-products.ts';
import { type TestMirror, testMirror } from '../fakes/test-mirror.ts';

/*
 * A mirror of the sandbox's catalogue, written straight through the mirror's tables: 100,000 products and a month of dates
 * in two minutes, where a fill over HTTP takes an hour.
 */

const atOnce = 500;

/** `days`: how many dates of each product it has. */
export function largeMirror(products: number, days = 31): TestMirror {
  const test = testMirror();
  const now = instant(Date.now());
  const catalogue = generateCatalogue(1, products);
  for (let first = 0; first < catalogue.length; first += atOnce) {
    const some = catalogue.slice(first, first + atOnce);
    putProducts(test, some.map(entryOf), { sent_at: now });
    test.mirror.transaction(() => {
      for (const product of some) putDates(test.mirror, product, { now, days });
      test.mirror.catalogue.listPlaces.note(
        some.map(({ id }) => id),
        first + 1,
      );
    });
    test.mirror.checkpoint('plenty');
  }
  test.mirror.optimise();
  test.mirror.checkpoint('tight');
  return test;
}

/** The entry of the list that such a mirror holds of a product. */
export function entryOf({ id, title, tagline, place, city_id, country_id, ...product }: SandboxProduct): ProductEntry {
  return productOf(id, {
    title,
    tagline,
    sale_status: product.status === 'available' ? 'enabled' : 'disabled',
    from_price: product.price,
    city_id,
    city_name: place.city,
    country_id,
    country_name: place.country,
    venue_id: product.experience_ids[0] ?? null,
    latitude: place.lat,
    longitude: place.lng,
    timezone: place.zone,
    rating: product.rating?.average ?? null,
    rating_count: product.rating?.total ?? null,
    tag_ids: product.tag_ids,
    document: JSON.stringify({ id, title, tagline, description: product.description, tag_ids: product.tag_ids }),
  });
}

function putDates(mirror: Mirror, product: SandboxProduct, { now, days }: { now: Instant; days: number }): void {
  const { id: product_id, place, variants } = product;
  const today = venueToday(place.zone, now).earliest;
  const to = addDays(today, days - 1);
  const read = { product_id, sent_at: now, now, reason: 'never-fetched' } as const;
  const answer: AvailabilityAnswer = {
    sales_enabled: true,
    covered_to: to,
    named: { from: today, to },
    max_tickets_per_order: 20,
    days: new Map(
      [...datesBetween(today, to)].flatMap((date) => {
        const day = calendarDay(product, date, 'EUR', { seed: 1, live_hour: null, lean: false, changes: null });
        return day === null ? [] : [[date, formOf(day, place.zone)] as const];
      }),
    ),
    variants: variants.map(({ id, label, type }) => ({
      variant_id: id,
      document: JSON.stringify({ id, label, variant_type: type }),
    })),
    groups: [],
    rest: {},
  };
  const ofVariants = { ...read, source: 'availability', language: 'en', stale_at: instant(now + 86_400_000) } as const;
  mirror.catalogue.variants.store(ofVariants, answer.variants, new Set());
  const [near, middle] = [
    { days: 14, every: 21_600_000 },
    { days: 31, every: 43_200_000 },
  ];
  const tiers = { horizon: days, near, middle, far: { every: 86_400_000 } };
  mirror.catalogue.availability.store(
    { ...read, currency: 'EUR', from: today, hash: '', today, tiers, readBefore: false },
    answer,
  );
}

/** A date as its read leaves it, without what searches do not ask for. */
function formOf({ availability, slots }: CalendarDay, zone: string | null): DayForm {
  return [
    availability,
    zone,
    slots
      .slice(0, 4)
      .map(({ time, availability: left, offers }) => [
        time === 'whole_day' ? -1 : Number(time.slice(0, 2)) * 60 + Number(time.slice(3)),
        left,
        offers.map(({ variant_id, max_tickets, retail_price }) => [variant_id, max_tickets, retail_price] as const),
      ]),
  ];
}
