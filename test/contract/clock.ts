/*
 * Columns that change without a change in the feed: `clock: true` in schema/contract.json. A copy reads them again by a
 * clock of its own (docs/copies.md). All others are announced: test/copies.test.ts sees each of them change, and
 * fails for one that is neither here nor seen.
 */

/** What says how old a row is moves with each read that finds nothing new, and with the hour. */
const age = ['checked_at', 'stale', 'expired_at', 'freshness'];

/** The least of a product's rows in bookable_days: its dates are announced, and each time that begins moves it. */
const leastOfDates = ['lowest_price', 'lowest_adult_price', 'price_variant_type'];

const columns: Readonly<Record<string, readonly string[]>> = {
  // Which currency is the primary one is configured, and which languages there are.
  products: [...age, ...leastOfDates, 'detail_freshness', 'currency', 'venue_today', 'language_shown'],
  product_prices: [...age, ...leastOfDates],
  checkout_information: [...age, 'language_shown'],
  variants: [...age, 'language_shown'],
  // How many tickets are left moves all day: none of its changes is told but selling out and coming back.
  availability_days: [...age, 'max_tickets', 'availability'],
  availability_slots: [...age, 'max_tickets', 'availability'],
  bookable_days: [...age, 'max_tickets'],
  // A file is fetched when this host comes to it.
  images: ['file', 'verified_at', 'expires_at'],
  // Sales, and the places of all others in the list, move it.
  product_popularity: ['popularity', 'list_place', 'recent_sales', 'recent_checks', 'place'],
  experiences: [...age, 'currency', 'language_shown'],
  // Which of the products that are on sale, and comes first in the list.
  withdrawn_products: ['successor_product_id'],
  search_entries: ['search_id'],
  search_rows: ['entry', 'rank'],
};

/** Views about the mirror itself, its configuration, its own checks and sales, and the insides of its search. */
const views: ReadonlySet<string> = new Set([
  'availability_error_rate',
  'changes',
  'currencies',
  'freshness',
  'languages',
  'mirror_info',
  'policies',
  'search_deletes',
  'search_generic_words',
  'search_letters',
  'search_terms',
  'search_words',
  'subscriptions',
]);

export function byTheClock(view: string, column: string): boolean {
  return views.has(view) || (columns[view]?.includes(column) ?? false);
}
