import { catalogueViews } from './catalogue.ts';
import { bit, expiry, integer, orNull, printed, type Row, text, type ViewColumn } from './column.ts';

/*
 * The rows of the views that the reader returns, column by column: types, column lists and the test that holds them
 * equal to schema/contract.json all come from here.
 */

/** The contract that these rows are of. */
export const contractVersion = 1;

export const views = {
  ...catalogueViews,
  mirror_info: {
    contract_version: integer,
    schema_version: integer,
    written_by: text(),
    feed_floor_seq: integer,
    filled_at: orNull(integer),
    feed_id: text(),
    published_at: orNull(integer),
  },
  currencies: { currency: text(), is_primary: bit, exponent: integer },
  availability_days: {
    product_id: integer,
    date: text(),
    currency: text(),
    state: text<'available' | 'sold_out' | 'not_on_sale'>(),
    lowest_price: orNull(integer),
    ...printed,
    max_tickets: orNull(integer),
    availability: orNull(integer),
    max_tickets_per_order: orNull(integer),
    checked_at: integer,
    stale: bit,
    ...expiry,
  },
  availability_slots: {
    product_id: integer,
    date: text(),
    currency: text(),
    time: text(),
    variant_id: integer,
    availability: orNull(integer),
    max_tickets: orNull(integer),
    retail_price: orNull(integer),
    ticket_value: orNull(integer),
    booking_fee: orNull(integer),
    commission: orNull(integer),
    pricing_restriction: orNull(integer),
    checked_at: integer,
    stale: bit,
    ...expiry,
  },
  changes: {
    seq: integer,
    at: integer,
    product_id: integer,
    kind: text<
      | 'product_added'
      | 'product_changed'
      | 'product_withdrawn'
      | 'product_returned'
      | 'sale_disabled'
      | 'sale_enabled'
      | 'dates_withheld'
      | 'dates_released'
      | 'price_changed'
      | 'date_added'
      | 'date_sold_out'
      | 'date_back'
      | 'image_added'
      | 'image_credit_changed'
      | 'image_withdrawn'
      | 'checkout_changed'
      | 'variants_changed'
      | 'slots_changed'
      | 'images_changed'
      | 'prices_changed'
      | 'experience_changed'
      | 'held'
      | 'pass_completed'
    >(),
    language: orNull(text()),
    date: orNull(text()),
    detail: text(),
  },
  freshness: {
    resource: text(),
    tier: orNull(text<'near' | 'middle' | 'far'>()),
    records: integer,
    fresh: integer,
    stale: integer,
    expired: integer,
    oldest_checked_at: integer,
    promise_ms: integer,
    kept: bit,
  },
  policies: {
    resource: text(),
    state: text<'fresh' | 'stale' | 'expired' | 'unknown'>(),
    action: text<'show' | 'show_as_from' | 'check_first' | 'hide'>(),
    expires_after: orNull(integer),
    reason: text(),
  },
};

export type ViewName = keyof typeof views;

export function columnsOf(view: ViewName): [name: string, column: ViewColumn<unknown>][] {
  return Object.entries(views[view]);
}

/** Returns the columns of a view as a list for SELECT, each with the alias before it, or the expression that stands `instead`. */
export function allColumns(view: ViewName, alias: string, instead: Readonly<Record<string, string>> = {}): string {
  return columnsOf(view)
    .map(([name]) => (instead[name] === undefined ? `${alias}.${name}` : `${instead[name]} AS ${name}`))
    .join(', ');
}

/** Returns the columns of these names in the order of the view, as a list for SELECT. */
export function someColumns(view: ViewName, alias: string, names: readonly string[]): string {
  const chosen = columnsOf(view).filter(([name]) => names.includes(name));
  return chosen.map(([name]) => `${alias}.${name}`).join(', ');
}

export type ViewRow<View extends ViewName> = Row<(typeof views)[View]>;
