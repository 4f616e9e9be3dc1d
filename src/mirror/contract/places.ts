import { age, changedAt, counts, currency, language, languageShown, primaryCurrency } from './repeated.ts';
import { degrees, flag, id, instant, integer, json, money, pageUrl, real, table, text } from './table.ts';

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

export const languages = table(
  'languages',
  { key: ['language'], rows: 'a mirrored language', byClock: true },
  { language, is_primary: flag({}, 'Visibility, sale status and images come from its reads.') },
);

export const currencies = table(
  'currencies',
  { key: ['currency'], rows: 'a mirrored currency, with its decimals', byClock: true },
  {
    currency,
    is_primary: flag({}, 'That of the prices in products.'),
    exponent: integer(
      {},
      'Decimals of the currency, which divide its minor units: ISO 4217, where the tables of many runtimes are wrong.',
    ),
  },
);
