import {
  age,
  changedAt,
  checkedAt,
  currency,
  document,
  language,
  languageShown,
  primaryCurrency,
  productId,
} from './repeated.ts';
import {
  date,
  degrees,
  flag,
  hours,
  id,
  instant,
  integer,
  integers,
  json,
  minutes,
  money,
  pageUrl,
  real,
  table,
  text,
  texts,
  words,
} from './table.ts';

/** Prices that the service names with a product. */
const fromPrice = money(
  { from: '$.price', null: 'not sent, or not exact in this currency' },
  'What the service calls the price of the product, which no date need have.',
);
const prediscountPrice = money(
  { from: '$.prediscount_price', null: 'not reduced, not sent, or not exact in this currency' },
  'The price before a reduction.',
);

/** The least prices of a product over its bookable dates. */
const leastPrices = {
  lowest_price: money(
    { byClock: true, null: 'no date is bookable, or none has an exact price' },
    'The lowest lowest_price of its bookable_days.',
  ),
  lowest_adult_price: money(
    { byClock: true, null: 'no date is bookable, or none has an exact price of those' },
    'What a shop prints: the lowest lowest_adult_price of its bookable_days, of adults. Where no adult can buy, that of the type that most dates have.',
  ),
  price_variant_type: text(
    { byClock: true, null: 'there is no such price, or the service does not say whose it is' },
    'Whose price lowest_adult_price is: adult, or another word of the service.',
  ),
};

export const products = table(
  'products',
  {
    key: ['product_id', 'language'],
    rows: 'a visible product and mirrored language, with what pages show of it; `sellable` tells whether it is on sale at all, and nothing about dates',
  },
  {
    product_id: id({ from: '$.id' }, 'The product.'),
    language,
    language_shown: languageShown,
    title: text({ from: '$.title', null: 'not sent' }, 'The title.'),
    tagline: text({ from: '$.tagline', null: 'not sent' }, 'A line below the title.'),
    sale_status: words(['enabled', 'disabled', 'unknown'], {}, 'Whether the service sells it.'),
    sellable: flag({}, 'Visible, enabled and without an unconfirmed closure. Says nothing about dates.'),
    disabled_reason: text(
      { from: '$.sale_status_reason', null: 'not disabled, or no reason given' },
      'Why it is not sold, a word of the service.',
    ),
    disabled_source: words(['read', 'notification'], { null: 'not disabled' }, 'What reported that it is disabled.'),
    expected_reopening: text(
      { from: '$.sale_status_expected_reopen', null: 'not disabled, or not said' },
      'When it may be sold again, a word of the service.',
    ),
    alternative_product_id: id({ null: 'none' }, 'A product that the service recommends instead.'),
    from_price: fromPrice,
    ...leastPrices,
    currency: primaryCurrency,
    city_id: id({ from: '$.city_id', null: 'not sent' }, 'The city.'),
    city_name: text({ from: '$.city_name', null: 'not sent' }, 'The name of the city.'),
    city_slug: text({ null: 'the city is not sent' }, 'For the address of the page of its city, as in cities.slug.'),
    country_id: id({ from: '$.country_id', null: 'not sent' }, 'The country.'),
    country_name: text({ from: '$.country_name', null: 'not sent' }, 'The name of the country.'),
    venue_id: id({ from: '$.venue.id', null: 'not sent' }, 'Its main experience.'),
    latitude: degrees({ from: '$.geolocation.lat', null: 'not sent' }, 'North of the equator.'),
    longitude: degrees({ from: '$.geolocation.lng', null: 'not sent' }, 'East of Greenwich.'),
    timezone: text(
      { from: '$.timezone', null: 'none sent that is known; today is then any of two days' },
      'The zone of the venue, an IANA name.',
    ),
    rating: real({ from: '$.ratings.average', null: 'not rated' }, 'Average of the ratings.'),
    rating_count: integer({ from: '$.ratings.total', null: 'not said' }, 'How many people rated it.'),
    prediscount_price: prediscountPrice,
    slug: text({ from: '$.product_slug', null: 'not sent' }, 'For the address of its page.'),
    url: pageUrl({ from: '$.product_url', null: 'not sent, or of another scheme' }, 'The service’s page of it.'),
    summary: text({ from: '$.summary', null: 'not sent' }, 'A few paragraphs.'),
    description: text(
      { from: '$.description', null: 'not sent, or its own read is still to come' },
      'The whole text, which only the read of the single product brings.',
    ),
    highlights: json(
      { from: '$.highlights', null: 'not sent, as nearly always' },
      'Its strong points: mostly an array of texts. The service does not define its form.',
    ),
    whats_included: text(
      { from: '$.whats_included', null: 'not sent' },
      'What the ticket includes: a line each, which begins with an asterisk.',
    ),
    whats_excluded: text({ from: '$.whats_excluded', null: 'not sent' }, 'What it does not include, in the same form.'),
    marketing_restrictions: texts(
      { from: '$.marketing_restrictions', null: 'none sent' },
      '**What a partner may not do with the product**, such as advertise it by name. The service does not list its words: show them to a person before the product is advertised.',
    ),
    promo_label: text({ from: '$.promo_label', null: 'none' }, 'A word of the service for a badge: bestseller …'),
    discount_percentage: real(
      { from: '$.discount_percentage', null: 'not reduced, or not sent' },
      'How much it is reduced.',
    ),
    skip_line: flag({ from: '$.skip_line', null: 'not sent' }, 'Visitors pass the line.'),
    smartphone_ticket: flag({ from: '$.smartphone_ticket', null: 'not sent' }, 'The ticket is shown on a phone.'),
    instant_ticket_delivery: flag(
      { from: '$.instant_ticket_delivery', null: 'not sent' },
      'The ticket comes at once after the order.',
    ),
    duration: text({ from: '$.duration', null: 'not sent' }, 'As the service writes it: 01:15, 0:15:00 …'),
    duration_minutes: minutes({ from: '$.duration', null: 'not sent, or in no such form' }, 'How long a visit takes.'),
    advance_arrival_minutes: minutes(
      { from: '$.advance_arrival_time', null: 'not sent, or in no such form' },
      'How long before its time a visitor has to be there.',
    ),
    last_admission_minutes: minutes(
      { from: '$.last_admission_window', null: 'not sent, or in no such form' },
      'How long before closing the last visitor is let in.',
    ),
    starting_point_address: text({ from: '$.starting_point.address', null: 'not sent' }, 'Where the visit begins.'),
    starting_point_label: text({ from: '$.starting_point.label', null: 'none' }, 'What that place is called.'),
    starting_point_city_id: id({ from: '$.starting_point.city_id', null: 'not sent' }, 'The city of that place.'),
    starting_point_latitude: degrees({ from: '$.starting_point.lat', null: 'not sent' }, 'North of the equator.'),
    starting_point_longitude: degrees({ from: '$.starting_point.lng', null: 'not sent' }, 'East of Greenwich.'),
    languages: texts({ from: '$.languages', null: 'not sent' }, 'The languages that the service has texts in.'),
    live_guide_languages: texts({ from: '$.live_guide_languages', null: 'not sent' }, 'The languages of guides.'),
    audio_guide_languages: texts({ from: '$.audio_guide_languages', null: 'not sent' }, 'Languages of audio guides.'),
    cancellation_policy: text(
      { from: '$.cancellation.policy', null: 'not sent' },
      'A word of the service: before_date, before_timeslot, never …',
    ),
    cancellation_window: hours(
      { from: '$.cancellation.window', null: 'not sent' },
      'Before the point in time that cancellation_policy names.',
    ),
    supplier: text({ from: '$.supplier.name', null: 'not sent' }, 'The name of the supplier.'),
    venue_name: text({ from: '$.venue.name', null: 'not sent' }, 'The name of the venue.'),
    venue_address: text({ from: '$.venue.address', null: 'not sent' }, 'The address of the venue.'),
    venue_today: date({ byClock: true, null: 'its zone is unknown' }, 'Today at the venue.'),
    wheelchair_access: flag({ from: '$.wheelchair_access', null: 'not sent' }, 'Accessible by wheelchair.'),
    is_package: flag({ from: '$.is_package', null: 'not sent' }, 'Several products sold as one.'),
    package_products: integers(
      { from: '$.package_products', null: 'not sent' },
      'The product_ids sold in the package.',
    ),
    in_packages: integers(
      { from: '$.in_packages', null: 'not sent' },
      'The product_ids of packages that it is sold in.',
    ),
    document: json(
      {},
      'What the service sent, with members that no column shows: the detail over the list entry, without images.',
    ),
    checked_at: checkedAt,
    changed_at: changedAt,
    ...age,
    detail_freshness: words(
      ['fresh', 'stale', 'expired', 'unknown'],
      { byClock: true },
      'How old the description is, whose own read has a cadence of its own.',
    ),
  },
);

export const productPrices = table(
  'product_prices',
  { key: ['product_id', 'currency'], rows: 'a product and mirrored currency: what it costs' },
  {
    product_id: productId,
    currency,
    from_price: fromPrice,
    ...leastPrices,
    prediscount_price: prediscountPrice,
    checked_at: instant({ byClock: true }, 'When the newest read that brought the price was sent.'),
    ...age,
  },
);

export const productTags = table(
  'product_tags',
  { key: ['product_id', 'tag_id'], rows: 'a tag of a product' },
  { product_id: productId, tag_id: id({ from: '$.tag_ids' }, 'The tag.') },
);

export const tags = table(
  'tags',
  { key: ['tag_id', 'language'], rows: 'a tag and language: its name, where the service has a list of tags' },
  {
    tag_id: id({ from: '$.id' }, 'The tag (product_tags).'),
    language,
    language_shown: languageShown,
    name: text({ from: '$.name', null: 'not sent' }, 'What shoppers read.'),
    type_name: text({ from: '$.type_name', null: 'not sent' }, 'What kind of tag it is, a name of the service.'),
    type_group_name: text({ from: '$.type_group_name', null: 'not sent' }, 'The group of that kind.'),
    document,
    checked_at: checkedAt,
    changed_at: changedAt,
    ...age,
  },
);

export const productExperiences = table(
  'product_experiences',
  { key: ['product_id', 'experience_id'], rows: 'an experience that a product belongs to, its venue among them' },
  { product_id: productId, experience_id: id({}, 'The experience.') },
);

/** Counts of a place. */
const counts = {
  products: integer({}, 'Visible products in it.'),
  sellable_products: integer({}, 'Of those, the ones on sale (products.sellable).'),
};

export const experiences = table(
  'experiences',
  {
    key: ['experience_id', 'language'],
    rows: 'a venue or an activity and language: where it is, its rating and price, how many of its products are on sale',
  },
  {
    experience_id: id({ from: '$.id' }, 'The experience (specification §2).'),
    language,
    language_shown: languageShown,
    title: text({ from: '$.title', null: 'neither the list nor a product says it' }, 'The title.'),
    slug: text(
      {},
      'For the address of its page: its title in plain letters with hyphens, and its id. Find the row by that number.',
    ),
    tagline: text({ from: '$.tagline', null: 'not sent' }, 'A line below the title.'),
    description: text({ from: '$.description', null: 'not sent' }, 'The whole text, in the primary language.'),
    url: pageUrl({ from: '$.experience_url', null: 'not sent, or of another scheme' }, 'The service’s page of it.'),
    address: text({ null: 'neither the list nor a product says it' }, 'The address.'),
    city_id: id({ null: 'there is none, or it does not say' }, 'The city of the first product whose venue it is.'),
    city_name: text({ null: 'neither the list nor a product says it' }, 'The name of the city.'),
    country_id: id({ null: 'there is none, or it does not say' }, 'The country of that product.'),
    country_name: text({ null: 'neither the list nor a product says it' }, 'The name of the country.'),
    latitude: degrees(
      { from: '$.geolocation.lat', null: 'neither the list nor a product says it' },
      'North of the equator.',
    ),
    longitude: degrees(
      { from: '$.geolocation.lng', null: 'neither the list nor a product says it' },
      'East of Greenwich.',
    ),
    rating: real({ from: '$.ratings.average', null: 'not rated' }, 'Average of the ratings.'),
    rating_count: integer({ from: '$.ratings.total', null: 'not said' }, 'How many people rated it.'),
    from_price: money(
      { from: '$.from_price', null: 'not sent, or not exact in this currency' },
      'What the service says it costs.',
    ),
    currency: primaryCurrency,
    products: integer({}, 'Its visible products (product_experiences).'),
    sellable_products: counts.sellable_products,
    document: json({}, 'What the service sent, with members that no column shows, without images.'),
    checked_at: instant({ byClock: true }, 'When the newest read of it was sent.'),
    changed_at: changedAt,
    ...age,
  },
);

export const cities = table(
  'cities',
  { key: ['city_id', 'language'], rows: 'a city and language: its name, how many products there are on sale' },
  {
    city_id: id({}, 'The city.'),
    language,
    name: text({ null: 'not sent' }, 'In the language, or in the primary one where no product says it.'),
    slug: text(
      {},
      'For the address of its page: its name in plain letters with hyphens, and its id. Find the row by that number.',
    ),
    country_id: id({ null: 'not sent' }, 'The country of most of its products.'),
    ...counts,
  },
);

export const countries = table(
  'countries',
  { key: ['country_id', 'language'], rows: 'a country and language: its name, how many products there are on sale' },
  {
    country_id: id({}, 'The country.'),
    language,
    name: text({ null: 'not sent' }, 'In the language, or in the primary one where no product says it.'),
    ...counts,
  },
);

export const withdrawnProducts = table(
  'withdrawn_products',
  {
    key: ['product_id'],
    rows: 'a product that the service no longer offers: answer 410, or redirect to `successor_product_id`',
  },
  {
    product_id: productId,
    title: text({ from: '$.title', null: 'not sent' }, 'Its last title.'),
    slug: text({ from: '$.product_slug', null: 'not sent' }, 'As it was in the primary language.'),
    city_id: id({ from: '$.city_id', null: 'not sent' }, 'The city.'),
    city_name: text({ from: '$.city_name', null: 'not sent' }, 'The name of the city.'),
    successor_product_id: id(
      { byClock: true, null: 'there is none' },
      'A product on sale: the one that the service recommended instead, or else the most popular one of the same main venue.',
    ),
    withdrawn_at: instant({}, 'When it was withdrawn.'),
    reason: text({ null: 'not said' }, 'Why.'),
  },
);

export const alternatives = table(
  'alternatives',
  {
    key: ['product_id', 'alternative_product_id'],
    rows: 'a product that the service recommends instead of a closed one, while it is itself on sale',
  },
  { product_id: productId, alternative_product_id: id({}, 'The product to offer instead.') },
);
