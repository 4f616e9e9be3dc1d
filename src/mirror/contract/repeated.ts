import { flag, id, instant, integer, json, money, text, words } from './table.ts';

/* Columns that stand in more than one table. */

export const productId = id({}, 'The product.');
export const language = text({}, 'The language of the row, one of those that are mirrored, in lower case.');
export const languageShown = text(
  { byClock: true },
  'The language of the texts: the primary one where the service has none in the language of the row.',
);
export const currency = text({}, 'ISO 4217, upper case.');
export const primaryCurrency = text({ byClock: true }, 'The primary currency, ISO 4217, upper case.');
export const document = json({}, 'What the service sent, with members that no column shows.');

export const checkedAt = instant({ byClock: true }, 'When the newest read of it was sent.');
export const changedAt = instant({}, 'When a read last differed.');

/** Columns with the age of a row, and the key for `policies`. */
export const age = {
  stale: flag({ byClock: true }, 'Past its cadence, or held.'),
  expired_at: instant({ byClock: true }, 'Four cadences after checked_at; policies say what a storefront does then.'),
  freshness: words(['fresh', 'stale', 'expired'], { byClock: true }, 'How old it is now; policies say what to do.'),
};

/** As `age`, for dates. */
export const ageOfDate = {
  ...age,
  stale: flag(
    { byClock: true },
    'Past its cadence, held, or answered as not on sale although the product is on sale by its own read.',
  ),
};

/** Prices that the service names with a product. */
export const fromPrice = money(
  { from: '$.price', null: 'not sent, or not exact in this currency' },
  'What the service calls the price of the product, which no date need have.',
);
export const prediscountPrice = money(
  { from: '$.prediscount_price', null: 'not reduced, not sent, or not exact in this currency' },
  'The price before a reduction.',
);

/** The least prices of a product over its bookable dates. */
export const leastPrices = {
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

/** Prices of a date. */
export const pricesOfDate = {
  lowest_adult_price: money(
    { null: 'sold out, or no exact price of those' },
    'What a shop prints: what an adult pays, the lowest price above 0, or 0 if adults pay nothing. Where no adult ticket can be had, the dearest variant of the type that most variants have, each at its cheapest time.',
  ),
  price_variant_type: text(
    { null: 'there is no such price, or the service does not say whose it is' },
    'Whose price lowest_adult_price is: adult, or another word of the service.',
  ),
};

/** Counts of a place. */
export const counts = {
  products: integer({}, 'Visible products in it.'),
  sellable_products: integer({}, 'Of those, the ones on sale (products.sellable).'),
};
