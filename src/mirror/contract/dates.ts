import { age, checkedAt, currency, productId } from './repeated.ts';
import { date, flag, id, integer, money, table, text, words } from './table.ts';

/** As `age`, for dates. */
const ageOfDate = {
  ...age,
  stale: flag(
    { byClock: true },
    'Past its cadence, held, or answered as not on sale although the product is on sale by its own read.',
  ),
};

/** Prices of a date. */
const pricesOfDate = {
  lowest_adult_price: money(
    { null: 'sold out, or no exact price of those' },
    'What a shop prints: what an adult pays, the lowest price above 0, or 0 if adults pay nothing. Where no adult ticket can be had, it is of the most common type of variant: each variant counts at its cheapest time, and the dearest of them is printed.',
  ),
  price_variant_type: text(
    { null: 'there is no such price, or the service does not say whose it is' },
    'Whose price lowest_adult_price is: adult, or another word of the service.',
  ),
};

export const availabilityDays = table(
  'availability_days',
  {
    key: ['product_id', 'date', 'currency'],
    rows: 'a date of a product. **A date that was never read has no row**',
  },
  {
    product_id: productId,
    date: date({ from: '$.date' }, 'The date.'),
    currency,
    state: words(
      ['available', 'sold_out', 'not_on_sale'],
      {},
      'not_on_sale: the product is not sellable, its dates are answered as not on sale, or the last time of the date has begun at the venue.',
    ),
    lowest_price: money({ null: 'sold out, or no exact price' }, 'The lowest price of any ticket.'),
    ...pricesOfDate,
    max_tickets: integer({ byClock: true, null: 'sold out, or not said' }, 'Tickets of one variant in one slot.'),
    availability: integer(
      { from: '$.availability', byClock: true, null: 'sold out, or not said' },
      'Tickets of the date, without those of times that have begun at the venue.',
    ),
    max_tickets_per_order: integer(
      { from: '$.max_tickets_per_order', null: 'no limit said' },
      'Tickets of one order over all variants.',
    ),
    checked_at: checkedAt,
    ...ageOfDate,
  },
);

export const availabilitySlots = table(
  'availability_slots',
  {
    key: ['product_id', 'date', 'currency', 'time', 'variant_id'],
    rows: 'a variant in a timeslot of a date, with its prices; a time that has begun at the venue has no row',
  },
  {
    product_id: productId,
    date: date({ from: '$.date' }, 'The date.'),
    currency,
    time: text({ from: '$.time' }, 'HH:MM at the venue, or whole_day.'),
    variant_id: id({ from: '$.id' }, 'The variant.'),
    availability: integer({ from: '$.availability', byClock: true, null: 'not said' }, 'Tickets of the slot.'),
    max_tickets: integer({ from: '$.max_tickets', byClock: true, null: 'not said' }, 'Tickets of the variant.'),
    retail_price: money(
      { from: '$.price_mediation.total_retail_price_incl_vat', null: 'not sent, or not exact in this currency' },
      'What a customer pays.',
    ),
    ticket_value: money(
      {
        from: '$.price_mediation.sale_ticket_value_incl_vat',
        null: 'not sent, or not exact in this currency',
        public: false,
      },
      'The part of the price that is the ticket’s.',
    ),
    booking_fee: money(
      {
        from: '$.price_mediation.booking_fee_incl_vat',
        null: 'not sent, or not exact in this currency',
        public: false,
      },
      'The part of the price that is the booking fee.',
    ),
    commission: money(
      {
        from: '$.price_mediation.distributor_commission_excl_vat',
        null: 'not mirrored (mirror.commission), not sent, or not exact',
        public: false,
      },
      'What the distributor earns.',
    ),
    pricing_restriction: integer({ from: '$.pricing_restriction', null: 'none' }, 'A code of the service.'),
    checked_at: checkedAt,
    ...ageOfDate,
  },
);

export const bookableDays = table(
  'bookable_days',
  {
    key: ['product_id', 'date', 'currency'],
    rows: 'a date of a sellable product with a time and tickets left: made for searching by date and price',
  },
  {
    product_id: productId,
    date: date({ from: '$.date' }, 'The date.'),
    currency,
    lowest_price: money({ null: 'no exact price' }, 'The lowest price of any ticket.'),
    ...pricesOfDate,
    max_tickets: integer({ byClock: true, null: 'not said' }, 'Tickets of one variant in one slot.'),
    checked_at: checkedAt,
    ...age,
  },
);
