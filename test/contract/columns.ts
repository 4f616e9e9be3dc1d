import { checkReasons } from '../../src/domain/checks/check.ts';
import { byTheClock } from './clock.ts';

/*
 * What the columns of the views mean: `type, unit; null: why`. Together with the views as they stand this is
 * schema/contract.json.
 */

const instant = 'integer, epoch milliseconds UTC';
const bit = 'integer, 0 or 1';
const id = 'integer, the service’s identifier';
const date = 'text, YYYY-MM-DD at the venue';
const money = (why: string) => `integer, minor units of currency; null: ${why}`;
const dayPrices = {
  lowest_adult_price:
    'integer, minor units of currency: what an adult pays, the lowest above 0, or 0 if adults pay nothing. Where no adult ticket can be had, the dearest variant of the type that most variants have, each at its cheapest time. What a shop prints; null: sold out, or no exact price of those',
  price_variant_type:
    'text, the service’s word: whose price lowest_adult_price is, adult or another type; null: there is no such price, or the service does not say whose it is',
};
const productPrices = {
  lowest_price:
    'integer, minor units of currency: the least lowest_price of its rows in bookable_days, now; null: no date is bookable, or none has an exact price',
  lowest_adult_price:
    'integer, minor units of currency: the least lowest_adult_price of its rows in bookable_days, now, with price_variant_type adult; where there is none, of those with the type that most of them have. What a shop prints; null: no date is bookable, or none has an exact price of those',
  price_variant_type:
    'text, the service’s word: whose price lowest_adult_price is, adult or another type; null: there is no such price, or the service does not say whose it is',
};
const document = 'text, the service’s JSON with unknown members kept';
const currency = 'text, ISO 4217, upper case';
const language = 'text, the language asked for, lower case';
const stale = `${bit}: past its cadence`;
const staleDate = `${stale}, or answered as not on sale while the product is on sale by its own read`;
const expiry = {
  expired_at: `${instant}: four cadences after checked_at, where policies say what expired means`,
  freshness: 'text: fresh, stale or expired now; policies say what a storefront does then',
};

const columns: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  products: {
    product_id: id,
    language,
    language_shown:
      'text, the language of the texts: the primary one where there is none in the language asked for; two letters where the service says it',
    title: 'text; null: not sent',
    tagline: 'text; null: not sent',
    sale_status: 'text: enabled, disabled or unknown',
    sellable: `${bit}: visible, enabled and no unconfirmed closure; says nothing about dates`,
    disabled_reason: 'text, the service’s word; null: not disabled, or no reason given',
    disabled_source: 'text: read or notification; null: not disabled',
    expected_reopening: 'text, the service’s word; null: not disabled, or not said',
    alternative_product_id: 'integer, a product the service recommends instead; null: none',
    from_price: money('not sent, or not exact in this currency'),
    ...productPrices,
    currency: `${currency}: the primary one`,
    city_id: 'integer; null: not sent',
    city_name: 'text; null: not sent',
    country_id: 'integer; null: not sent',
    country_name: 'text; null: not sent',
    venue_id: 'integer, the main experience; null: not sent',
    latitude: 'real, degrees; null: not sent',
    longitude: 'real, degrees; null: not sent',
    timezone: 'text, IANA name; null: none sent that is known, then today is any of two days',
    rating: 'real, average; null: not rated',
    rating_count: 'integer, people who rated it; null: not said',
    prediscount_price: money('not reduced, not sent, or not exact in this currency'),
    slug: 'text, for an address of the product’s page (service-facts §2, product_slug); null: not sent',
    url: 'text, the service’s page of the product, http or https; null: not sent, or of another scheme',
    summary: 'text, paragraphs; null: not sent',
    description: 'text, by the single-product read; null: not sent, or that is not read yet',
    duration: 'text, as the service writes it: 01:15, 0:15:00 …; null: not sent',
    languages: 'text, JSON: an array of the languages that the service has texts in; null: not sent',
    cancellation_policy: 'text, the service’s word: before_date, before_timeslot, never …; null: not sent',
    cancellation_window: 'integer, hours before what cancellation_policy names; null: not sent',
    supplier: 'text, its name; null: not sent',
    venue_name: 'text; null: not sent',
    venue_address: 'text; null: not sent',
    venue_today: 'text, YYYY-MM-DD: today at the venue; null: its zone is unknown',
    wheelchair_access: `${bit}; null: not sent`,
    is_package: `${bit}: several products sold as one; null: not sent`,
    document: `${document}: the detail over the list entry, without images`,
    checked_at: `${instant}: when the newest read was sent`,
    changed_at: `${instant}: when a read last differed`,
    stale,
    ...expiry,
    detail_freshness:
      'text: fresh, stale, expired or unknown, of the description: its own read has a cadence of its own',
  },
  product_search: {
    title: 'text; null: not sent',
    tagline: 'text; null: not sent',
    summary: 'text; null: not sent',
    city: 'text; null: not sent',
    venue: 'text, the title of its main experience; null: neither that nor the product says it',
    product_id: id,
    language,
  },
  product_places: {
    product_id: `${id}: a visible one that says where it is`,
    min_latitude: 'real, degrees, rounded down by less than a metre',
    max_latitude: 'real, degrees, rounded up by less than a metre',
    min_longitude: 'real, degrees, rounded down by less than three metres',
    max_longitude: 'real, degrees, rounded up by less than three metres',
    x: 'real, cos(latitude) * cos(longitude): on a globe of radius 1',
    y: 'real, cos(latitude) * sin(longitude)',
    z: 'real, sin(latitude)',
  },
  place_rows: {
    product_id: `${id}: a visible one that says where it is`,
    min_latitude: 'real, as in product_places',
    max_latitude: 'real, as in product_places',
    min_longitude: 'real, as in product_places',
    max_longitude: 'real, as in product_places',
    x: 'real, as in product_places',
    y: 'real, as in product_places',
    z: 'real, as in product_places',
  },
  product_popularity: {
    product_id: id,
    sellable: `${bit}: as in products`,
    city_id: `${id}; null: not told`,
    country_id: `${id}; null: not told`,
    rating: 'real, 0 to 5; null: nobody rated it',
    popularity: 'real, 0 to 1: rating and reported sales, half each; an unrated product counts as 3 of 5',
    list_place:
      'integer, from 1, in the service’s order of popularity; null: the list is not asked for in it, or the product was not in it',
    rating_count: 'integer, people who rated it; null: not said',
    weighed_rating: 'integer, thousandths of a star: as if ten more people had rated it with 4 stars',
    recent_sales: 'integer, reported sales, halved once a month',
    recent_checks: 'integer, checks before orders, halved once a month',
    place:
      'integer, from 1, the most popular first: list_place, halved for every doubling of recent sales, ten recent checks counting as one; without one it follows from weighed_rating',
  },
  search_terms: {
    name: 'text, terms of the title up to its colon, without those of the city',
    title: 'text, terms',
    city: 'text, terms',
    country: 'text, terms',
    venue: 'text, terms',
    tagline: 'text, terms',
    summary: 'text, terms',
  },
  search_entries: {
    search_id: 'integer, the rowid of search_terms and of product_search',
    product_id: id,
    language,
    title: 'text; null: not sent',
    tagline: 'text; null: not sent',
    summary: 'text; null: not sent',
    city: 'text; null: not sent',
    country: 'text; null: not sent',
    venue: 'text; null: neither its main experience nor the product says it',
  },
  search_rows: {
    entry: 'integer, what MATCH asks: WHERE entry MATCH …; its value says nothing',
    rank: 'real, as in product_search; null: nothing is matched',
    product_id: id,
    language,
    title: 'text; null: not sent',
    tagline: 'text; null: not sent',
    summary: 'text; null: not sent',
    city: 'text; null: not sent',
    venue: 'text; null: neither its main experience nor the product says it',
  },
  search_words: {
    language,
    word: 'text, a word as people type it, folded by search_letters',
    term: 'text, what stands for it in search_terms; several, with spaces, of words that are written as one',
    documents: 'integer, search_entries that have it',
  },
  search_deletes: {
    shorter: 'text, the word with letters left out: one, of a long word two of its first eight',
    word: 'text, in search_words',
  },
  search_letters: {
    letter: 'text, one that is not searched as itself',
    folded: 'text, what it is searched as: a space where it ends a word, nothing where it is passed over',
  },
  search_generic_words: {
    language: 'text, lower case; those of en count in every language',
    word: 'text, folded: left out of a query as long as another word remains',
  },
  languages: { language, is_primary: `${bit}: visibility, sale status and images come from its reads` },
  currencies: {
    currency,
    is_primary: `${bit}: that of the prices in products`,
    exponent:
      'integer: decimals of the currency, which divide its minor units: ISO 4217, where the tables of many runtimes are wrong',
  },
  product_prices: {
    product_id: id,
    currency,
    from_price: money('not sent, or not exact in this currency'),
    ...productPrices,
    prediscount_price: money('not reduced, not sent, or not exact in this currency'),
    checked_at: `${instant}: when the newest read that brought it was sent`,
    stale,
    ...expiry,
  },
  experiences: {
    experience_id: 'integer, the service’s identifier (specification §2)',
    language,
    language_shown: 'text, the language of title and tagline: the primary one, in which the list is walked',
    title: 'text; null: neither the list nor a product says it',
    tagline: 'text; null: not sent',
    url: 'text, the service’s page of it, http or https; null: not sent, or of another scheme',
    address: 'text; null: neither the list nor a product says it',
    city_id: 'integer, of the first product whose venue it is; null: there is none, or it does not say',
    city_name: 'text; null: neither the list nor a product says it',
    country_id: 'integer, of the first product whose venue it is; null: there is none, or it does not say',
    country_name: 'text; null: neither the list nor a product says it',
    latitude: 'real, degrees; null: neither the list nor a product says it',
    longitude: 'real, degrees; null: neither the list nor a product says it',
    rating: 'real, average; null: not rated',
    rating_count: 'integer, people who rated it; null: not said',
    from_price: money('not sent, or not exact in this currency'),
    currency: `${currency}: the primary one`,
    products: 'integer, visible products of it, as in product_experiences',
    sellable_products: 'integer, of them those on sale: products.sellable',
    document: `${document}, without images`,
    checked_at: instant,
    changed_at: `${instant}: when a read last differed`,
    stale,
    ...expiry,
  },
  cities: {
    city_id: 'integer, the service’s identifier',
    language,
    name: 'text, in the language, or in the primary one where no product says it; null: not sent',
    country_id: 'integer, of most of its products; null: not sent',
    products: 'integer, visible products in it',
    sellable_products: 'integer, of them those on sale: products.sellable',
  },
  countries: {
    country_id: 'integer, the service’s identifier',
    language,
    name: 'text, in the language, or in the primary one where no product says it; null: not sent',
    products: 'integer, visible products in it',
    sellable_products: 'integer, of them those on sale: products.sellable',
  },
  product_tags: { product_id: id, tag_id: 'integer' },
  product_experiences: { product_id: id, experience_id: 'integer' },
  withdrawn_products: {
    product_id: id,
    title: 'text; null: not sent',
    slug: 'text, as it was in the primary language; null: not sent',
    city_id: 'integer; null: not sent',
    city_name: 'text; null: not sent',
    successor_product_id:
      'integer, on sale: what the service recommended instead, or else the most popular product of the same main venue; null: there is none',
    withdrawn_at: instant,
    reason: 'text; null: not said',
  },
  checkout_information: {
    product_id: id,
    language,
    language_shown: 'text, the language of the texts: the primary one where there is none in the language asked for',
    has_timeslots: `${bit}; null: not sent`,
    has_dynamic_pricing: `${bit}; null: not sent`,
    must_know: 'text to show before the sale; null: none',
    good_to_know: 'text; null: none',
    document,
    checked_at: instant,
    stale,
    ...expiry,
  },
  variants: {
    product_id: id,
    language,
    language_shown: 'text, the language of the texts: the primary one where there is none in the language asked for',
    variant_id: 'integer',
    label: 'text; null: not sent',
    variant_type: 'text: adult, child …; null: not sent',
    source: 'text: variants, or availability where the variants read does not have it',
    valid_with:
      'text, JSON: an array of the variant_ids that may be in one order with it (specification §2); null: not sent',
    visitors_details:
      'text, JSON: an array of what each visitor has to give (full_name, passport_id …), which no order of it goes without; null: not sent',
    group_ids: 'text, JSON: an array of the numbers of its groups, variants of one group being alike; null: not sent',
    group_names:
      'text, JSON: an array of the names of its groups in the primary language, in the order of group_ids, null for one that has none: Default is how the service names no grouping; null: no name is known',
    document: `${document}: the variants read over what availability adds`,
    checked_at: instant,
    stale,
    ...expiry,
  },
  images: {
    product_id: id,
    position: 'integer, from 0',
    image_key: 'text, the stable asset name',
    small_url: 'text; null: no such size',
    medium_url: 'text; null: no such size',
    large_url: 'text; null: no such size',
    extra_large_url: 'text; null: no such size',
    alt_text: 'text; null: none',
    credit: 'text that must be shown with the image; null: none is asked for',
    file: 'text, path of a local copy within images.directory; null: none kept',
    verified_at: `${instant}: the complete read that returned it`,
    expires_at: `${instant}: from then on the row is gone`,
    document,
  },
  availability_days: {
    product_id: id,
    date,
    currency,
    state:
      'text: available, sold_out, or not_on_sale while the product is not sellable, or is and its dates are answered as not on sale, or once the last time of the date has begun at the venue; a date never fetched has no row',
    lowest_price: money('sold out, or no exact price'),
    ...dayPrices,
    max_tickets: 'integer, of one variant in one slot; null: sold out, or not said',
    availability:
      'integer, tickets of the date, without those of times that have begun at the venue; null: sold out, or not said',
    max_tickets_per_order: 'integer, over all variants; null: no limit said',
    checked_at: instant,
    stale: staleDate,
    ...expiry,
  },
  availability_slots: {
    product_id: id,
    date,
    currency,
    time: 'text: HH:MM, or whole_day; a time that has begun at the venue has no row',
    variant_id: 'integer',
    availability: 'integer, tickets of the slot; null: not said',
    max_tickets: 'integer, of the variant; null: not said',
    retail_price: money('not sent, or not exact in this currency'),
    ticket_value: money('not sent, or not exact in this currency'),
    booking_fee: money('not sent, or not exact in this currency'),
    commission: money('not mirrored (mirror.commission), not sent, or not exact'),
    pricing_restriction: 'integer, the service’s code; null: none',
    checked_at: instant,
    stale: staleDate,
    ...expiry,
  },
  bookable_days: {
    product_id: id,
    date,
    currency,
    lowest_price: money('no exact price'),
    ...dayPrices,
    max_tickets: 'integer, of one variant in one slot; null: not said',
    checked_at: instant,
    stale,
    ...expiry,
  },
  alternatives: {
    product_id: id,
    alternative_product_id: 'integer: what the service recommends instead, itself sellable',
  },
  changes: {
    seq: 'integer, without gaps above mirror_info.feed_floor_seq: a cursor',
    at: `${instant}, when the read that found it was sent`,
    product_id: `${id}; 0: it is of none`,
    kind: 'text: product_added, product_changed, product_withdrawn, product_returned, sale_disabled, sale_enabled, dates_withheld, dates_released, price_changed, date_added, date_sold_out, date_back, image_added, image_credit_changed, image_withdrawn, checkout_changed, variants_changed, slots_changed, images_changed, prices_changed, experience_changed, held, pass_completed; readers pass over others',
    language: 'text, of a product_changed, checkout_changed or variants_changed; null: it is of no language, or of all',
    date: 'text, YYYY-MM-DD at the venue; null: it is of no date',
    detail: 'text, JSON: what was and what is (src/domain/changes/change.ts)',
  },
  freshness: {
    resource: 'text: products, product_detail, checkout_information, variants, experiences, images, availability',
    tier: 'text: near, middle or far; null: the resource has none',
    records: 'integer',
    fresh: 'integer, records within their cadence',
    stale: 'integer, records past it or never read, and lists that leave out rows that they count',
    expired: 'integer, records past a hard limit and not shown',
    oldest_checked_at: `${instant}; 0: one was never read`,
    promise_ms: 'integer, milliseconds',
    kept: `${bit}: no record is stale or expired`,
  },
  policies: {
    resource:
      'text: products, product_prices, product_detail, checkout_information, variants, experiences, images, availability, day_prices',
    state: 'text: fresh, stale, expired or unknown; one row a resource and state',
    action: 'text: show, show_as_from, check_first or hide',
    expires_after: 'integer, cadences after its read; null: 14 days, whatever the cadence',
    reason: 'text, one line of English',
  },
  subscriptions: {
    subscription_id: 'text, chosen by us',
    type: 'text: product_ids, experience_ids or products_i_sell',
    status:
      'text, the service’s word (active, degraded, failed, cancelled …), accepted where it said none, missing where it has none; null: never asked',
    covered_products: 'integer, mirrored products; null: products_i_sell, whose list only the service knows',
    last_delivery_at: `${instant}; null: none yet`,
    trust:
      'real, 0 to 1: of the changes that it should have announced, the share that it did; null: there was none yet',
  },
  availability_error_rate: {
    product_id: id,
    tier: 'text: near, middle or far: how far the date lay ahead',
    checks: 'integer, checks before an order that the service answered and the mirror had a row for',
    wrong: 'integer, of them those in which the mirror said something else than the service',
    orders: 'integer, reported orders that tell whether the mirror was right',
    orders_wrong: 'integer, of them those in which it was wrong',
    rate: 'real, 0 to 1: the share of both that was wrong; null: neither was there yet',
    said_available: 'integer, of all that were wrong: what was shown could not be had',
    said_sold_out: 'integer, of all that were wrong: what could be had was not shown',
    said_price: 'integer, of all that were wrong: it cost something else',
    tickets: 'integer, of confirmed orders',
    unknown: 'integer, checks and orders of dates that the mirror did not have: in no share',
    unanswered: 'integer, checks that the service did not answer in time: in no share',
    since_at: `${instant}: the first day that is counted, of those that retention.changes keeps`,
  },
  mirror_info: {
    contract_version: 'integer, raised with every addition to this contract',
    schema_version: 'integer',
    written_by: 'text, program and version',
    feed_floor_seq: 'integer: a change-feed cursor below it has to start again',
    filled_at: `${instant}, when every record had been read once; null: not yet`,
    feed_id: 'text: the feed that cursors belong to, new with every first fill, restore and repair',
    published_at: `${instant}, of a copy that follows a daemon (catalogued follow): it is as the mirror was then; null: the mirror itself, or a snapshot`,
  },
};

/** The fields that `--json` prints, by command. */
const outputs: Readonly<Record<string, readonly string[]>> = {
  status: [
    'path', 'file_bytes', 'wal_bytes', 'contract_version', 'schema_version', 'written_by', 'filled_at', 'products', 'images',
    'oldest_image_at', 'unconfirmed_images', 'unusable', 'records', 'failures', 'freshness', 'held', 'contradicted', 'closures',
    'subscriptions', 'gaps', 'error_rate', 'truth', 'list_signal', 'not_offered', 'short_lists', 'alarms', 'daemon', 'daemon_answers', 'database', 'inbox', 'storage', 'storefront', 'jobs', 'snapshot', 'backup', 'conditions',
  ],
  'resync --wait': ['job_id', 'records', 'failed', 'calls', 'received_bytes', 'seconds', 'peak_memory_mib'],
  probe: ['unusable', 'cut_short', 'calls', 'findings', 'profile'],
  'resync --dry-run': ['records', 'calls', 'minutes', 'estimated_from', 'at_least'],
  explain: [
    'product_id', 'title', 'sale_status', 'sellable', 'disabled_reason', 'expected_reopening', 'dates_off_at', 'throttled_until', 'withdrawn_at', 'first_seen_at',
    'timezone', 'today', 'category', 'weight', 'weighed', 'images', 'records', 'claims', 'covered', 'notices', 'announced_by', 'list_signal',
    'closures', 'calls_per_day',
  ],
  'explain --date': ['product_id', 'date', 'now', 'history', 'claims'],
  plan: ['products', 'lines', 'calls_per_day', 'rate', 'ceiling', 'share_of_ceiling', 'sweeps', 'lanes', 'broken', 'buys', 'interest', 'what_if'],
  'plan --declaration': ['endpoints'],
  'report --week': [
    'at', 'week', 'mirror', 'written_by', 'filled_at', 'known_since', 'currency', 'products', 'prices', 'images',
    'sold_without_subscription', 'truth', 'checkout', 'fruitless_searches', 'week_before',
  ],
  check: ['verdict', 'reasons', 'now', 'mirror', 'alternatives'],
  'check: verdict': ['holds', 'changed', 'gone', 'unknown'],
  'check: reasons': checkReasons,
  'check: now': ['sellable', 'state', 'time', 'price', 'max_tickets_per_order', 'slots', 'read_at'],
  'check: mirror': ['sellable', 'state', 'time', 'price', 'max_tickets_per_order', 'slots', 'checked_at', 'stale'],
  'check: alternatives': ['kind', 'product_id', 'date', 'time', 'price', 'checked_at'],
  'held list': ['held'],
  'held list: held': [
    'subject', 'since', 'state', 'able', 'claiming', 'decision', 'decided_until', 'ended_at', 'examples',
  ],
  'images audit': [
    'at', 'service', 'mirror', 'written_by', 'filled_at', 'rule', 'summary', 'published', 'takedowns', 'credit_changes', 'breaches',
  ],
  'notifications list': ['counts', 'deliveries'],
  'notifications show': [
    'delivery_id', 'received_at', 'subscription_id', 'epoch', 'peer', 'content_type', 'length', 'truncated', 'sha256', 'state',
    'reason', 'settled_at', 'replay_of', 'body_gone', 'text', 'base64',
  ],
  'subscription list': ['subscriptions', 'waiting', 'uncovered'],
  'subscription show': ['subscription_id', 'declared', 'service', 'differences', 'failure', 'last_attempt'],
  'subscription apply': ['subscription_id', 'action', 'differences', 'request', 'done', 'message'],
  changes: ['seq', 'at', 'product_id', 'kind', 'language', 'date', 'detail'],
  jobs: ['jobs'],
  'jobs: jobs': [
    'name', 'every_ms', 'at', 'zone', 'next_at', 'running', 'overdue', 'runs', 'failures', 'last_run_at', 'last_ms', 'failure',
  ],
  'jobs run': [
    'name', 'every_ms', 'at', 'zone', 'next_at', 'running', 'overdue', 'runs', 'failures', 'last_run_at', 'last_ms', 'failure',
    'joined',
  ],
  doctor: ['checks', 'healthy'],
  repair: ['mirror', 'inbox', 'plan', 'moved', 'restored', 'dry_run'],
  backup: ['backup', 'made_at', 'bytes', 'removed'],
  'backup --list': ['directory', 'backups', 'tried'],
  restore: ['backup', 'made_at', 'made_by', 'mirror', 'inbox', 'moved', 'dry_run'],
  'upgrade --check': [
    'version', 'written_by', 'mirror', 'inbox', 'contract', 'added', 'removed', 'backup_ms', 'change_ms', 'needed_bytes', 'free_bytes',
  ],
  'doctor --reader': ['path', 'user', 'checks', 'healthy'],
}; // biome-ignore format: lists of fields

const rowOf = (view: string) => Object.keys(columns[view] ?? {});

/** What the functions of `catalogued/reader` return: the fields of each row; [] where it is no row. */
const reader: Readonly<Record<string, readonly string[]>> = {
  info: rowOf('mirror_info'),
  product: rowOf('products'),
  products: rowOf('products'),
  prices: rowOf('product_prices'),
  experience: rowOf('experiences'),
  experiences: rowOf('experiences'),
  cities: rowOf('cities'),
  countries: rowOf('countries'),
  images: rowOf('images'),
  checkoutInformation: rowOf('checkout_information'),
  variants: rowOf('variants'),
  withdrawn: rowOf('withdrawn_products'),
  calendar: rowOf('availability_days'),
  slots: rowOf('availability_slots'),
  cheapest: rowOf('availability_days'),
  search: [
    'product_id', 'language', 'title', 'tagline', 'city_id', 'city_name', 'latitude', 'longitude', 'sellable', 'rating',
    'popularity', 'price', 'price_variant_type', 'currency', 'date', 'checked_at', 'stale', 'distance_km',
  ], // biome-ignore format: a list of fields
  find: ['hits', 'total', 'matched', 'dropped', 'meant', 'facets'],
  alternatives: rowOf('products'),
  related: rowOf('products'),
  newest: ['next', 'feed'],
  changes: ['changes', 'next', 'feed'],
  freshness: rowOf('freshness'),
  currencies: rowOf('currencies'),
  policies: rowOf('policies'),
  check: outputs.check ?? [],
  order: ['repeated', 'due', 'mirror'],
  seen: [],
  sellable: [],
  transaction: [],
  close: [],
};

/** The same, with each column that changes without a change in the feed marked so: `…; clock: true`. */
const marked = Object.fromEntries(
  Object.entries(columns).map(([view, meanings]) => [
    view,
    Object.fromEntries(
      Object.entries(meanings).map(([column, meaning]) => [
        column,
        byTheClock(view, column) ? `${meaning}; clock: true` : meaning,
      ]),
    ),
  ]),
);

export const contract = { columns: marked, outputs, reader };
