import { currency, language } from './repeated.ts';
import { date, flag, id, instant, integer, json, real, table, text, words } from './table.ts';

/* What the mirror says of itself. */

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

export const changes = table(
  'changes',
  { key: ['seq'], rows: 'something that changed, in order: what was and what is', byClock: true },
  {
    seq: integer({}, 'Its number, without gaps above mirror_info.feed_floor_seq: a cursor.'),
    at: instant({}, 'When the read that found it was sent.'),
    product_id: id({}, 'The product; 0: it is of none.'),
    kind: words(
      [
        'product_added',
        'product_changed',
        'product_withdrawn',
        'product_returned',
        'sale_disabled',
        'sale_enabled',
        'dates_withheld',
        'dates_released',
        'price_changed',
        'date_added',
        'date_sold_out',
        'date_back',
        'image_added',
        'image_credit_changed',
        'image_withdrawn',
        'checkout_changed',
        'variants_changed',
        'slots_changed',
        'images_changed',
        'prices_changed',
        'experience_changed',
        'tags_changed',
        'held',
        'pass_completed',
      ],
      {},
      'What happened; readers pass over kinds that they do not know.',
    ),
    language: text(
      { null: 'it is of no language, or of all' },
      'Of a product_changed, checkout_changed, variants_changed or tags_changed.',
    ),
    date: date({ null: 'it is of no date' }, 'The date that it is about.'),
    detail: json({}, 'What was and what is (src/feed/change.rules.ts).'),
  },
);

const readBeside = [
  'product_detail', 'checkout_information', 'variants', 'experiences', 'tags', 'images', 'availability',
] as const; // biome-ignore format: a list of words

export const policies = table(
  'policies',
  {
    key: ['resource', 'state'],
    rows: 'a resource and a state (`fresh`, `stale`, `expired`, `unknown`): what a storefront does then',
    byClock: true,
  },
  {
    resource: words(['products', 'product_prices', ...readBeside, 'day_prices'], {}, 'What is shown.'),
    state: words(['fresh', 'stale', 'expired', 'unknown'], {}, 'How old it is.'),
    action: words(['show', 'show_as_from', 'check_first', 'hide'], {}, 'What a storefront does with it.'),
    expires_after: integer({ null: '14 days, whatever the cadence' }, 'Cadences after its read.'),
    reason: text({}, 'One line of English.'),
  },
);

export const freshness = table(
  'freshness',
  {
    key: ['resource', 'tier'],
    rows: 'a freshness target: how many records are fresh, stale, expired, and whether it is met',
    byClock: true,
  },
  {
    resource: words(['products', ...readBeside], {}, 'What is read.'),
    tier: words(
      ['near', 'middle', 'far', 'beyond'],
      { null: 'the resource has none' },
      'How far ahead the dates are; beyond: further than the far ones, where they have a cadence of their own.',
    ),
    records: integer({}, 'All records.'),
    fresh: integer({}, 'Records within their cadence.'),
    stale: integer({}, 'Records past it or never read, and lists that leave out rows that they count.'),
    expired: integer({}, 'Records past a hard limit and not shown.'),
    oldest_checked_at: instant({}, 'When the oldest was read; 0: one was never read.'),
    target_ms: integer({}, 'The target: milliseconds that a record may be old.'),
    met: flag({}, 'No record is stale or expired.'),
  },
);

export const subscriptions = table(
  'subscriptions',
  {
    key: ['subscription_id'],
    rows: 'a subscription to change notifications: its status, how many products it covers, how far it is trusted',
    byClock: true,
    public: false,
  },
  {
    subscription_id: text({}, 'Its name, which we choose.'),
    type: words(['product_ids', 'experience_ids', 'products_i_sell'], {}, 'How it names its products.'),
    status: text(
      { null: 'never asked' },
      'A word of the service (active, degraded, failed, cancelled …); accepted where it gave none, missing where it has none.',
    ),
    covered_products: integer(
      { null: 'products_i_sell, whose list only the service knows' },
      'Mirrored products that it covers.',
    ),
    last_delivery_at: instant({ null: 'none yet' }, 'When the last notification came.'),
    trust: real(
      { null: 'there was none yet' },
      '0 to 1: the share of the changes it should have announced that it did announce.',
    ),
  },
);

export const availabilityErrorRate = table(
  'availability_error_rate',
  {
    key: ['product_id', 'tier'],
    rows: 'a product and tier: how often checks and orders found the mirror wrong, and what it had said',
    byClock: true,
    public: false,
  },
  {
    product_id: id({}, 'The product.'),
    tier: words(['near', 'middle', 'far'], {}, 'How far ahead the date lay.'),
    checks: integer({}, 'Checks before an order that the service answered and the mirror had a row for.'),
    wrong: integer({}, 'Of those, the ones in which the mirror said something else than the service.'),
    orders: integer({}, 'Reported orders that tell whether the mirror was right.'),
    orders_wrong: integer({}, 'Of those, the ones in which it was wrong.'),
    rate: real({ null: 'neither was there yet' }, '0 to 1: the share of both that was wrong.'),
    said_available: integer({}, 'Of all that were wrong: what was shown could not be had.'),
    said_sold_out: integer({}, 'Of all that were wrong: what could be had was not shown.'),
    said_price: integer({}, 'Of all that were wrong: it cost something else.'),
    tickets: integer({}, 'Tickets of confirmed orders.'),
    unknown: integer({}, 'Checks and orders of dates that the mirror did not have: in no share.'),
    unanswered: integer({}, 'Checks that the service did not answer in time: in no share.'),
    since_at: instant({}, 'The first day that is counted, of those that retention.changes keeps.'),
  },
);

export const mirrorInfo = table(
  'mirror_info',
  { key: ['feed_id'], rows: 'the file itself', byClock: true },
  {
    contract_version: integer({}, 'Raised with every addition to this contract.'),
    schema_version: integer({}, 'The version of the private tables.'),
    written_by: text({}, 'Program and version.'),
    feed_floor_seq: integer({}, 'A cursor of the change feed below it has to start again.'),
    filled_at: instant({ null: 'not yet' }, 'When every record had been read once.'),
    feed_id: text({}, 'The feed that cursors belong to: new with every first fill, restore and repair.'),
    published_at: instant(
      { null: 'the mirror itself, or a snapshot' },
      'Of a copy that follows a daemon (catalogued follow): it is as the mirror was then.',
    ),
  },
);
