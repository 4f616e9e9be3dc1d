/*
 * The rows of the views that the reader returns, column by column: types, column lists and the test that holds them
 * equal to schema/contract.json all come from here.
 */

/** A column, and what type its values have in TypeScript. */
export interface ViewColumn<Value> {
  readonly type: 'integer' | 'real' | 'text';
  readonly nullable: boolean;
  /** The contract that brought it: in the mirror of an older one it is null. Absent: it was always there. */
  readonly since?: number;
  /** Never there: it carries the type. */
  readonly of?: Value;
}

export type Row<Columns> = {
  readonly [Name in keyof Columns]: Columns[Name] extends ViewColumn<infer Value>
    ? Columns[Name] extends { readonly since: number }
      ? Value | null
      : Value
    : never;
};

const integer: ViewColumn<number> = { type: 'integer', nullable: false };
const real: ViewColumn<number> = { type: 'real', nullable: false };
const text = <Value extends string = string>(): ViewColumn<Value> => ({ type: 'text', nullable: false });
const bit: ViewColumn<0 | 1> = { type: 'integer', nullable: false };
const orNull = <Value>(column: ViewColumn<Value>): ViewColumn<Value | null> => ({ type: column.type, nullable: true });

/** What `policies` are asked with: null in a mirror that an older version has written. */
const expiry = {
  expired_at: { ...integer, since: 3 },
  freshness: { ...text<'fresh' | 'stale' | 'expired'>(), since: 3 },
};

/** What a shop prints, and whose price it is. */
const printed = {
  lowest_adult_price: { ...orNull(integer), since: 5 },
  price_variant_type: { ...orNull(text()), since: 5 },
};

/** The contract that these rows are of. */
export const contractVersion = 5;

export const views = {
  mirror_info: {
    contract_version: integer,
    schema_version: integer,
    written_by: text(),
    feed_floor_seq: integer,
    filled_at: orNull(integer),
    feed_id: { ...text(), since: 4 },
  },
  products: {
    product_id: integer,
    language: text(),
    language_shown: { ...text(), since: 5 },
    title: orNull(text()),
    tagline: orNull(text()),
    sale_status: text<'enabled' | 'disabled' | 'unknown'>(),
    sellable: bit,
    disabled_reason: orNull(text()),
    disabled_source: orNull(text<'read' | 'notification'>()),
    expected_reopening: orNull(text()),
    alternative_product_id: orNull(integer),
    from_price: orNull(integer),
    lowest_price: { ...orNull(integer), since: 5 },
    ...printed,
    currency: text(),
    city_id: orNull(integer),
    city_name: orNull(text()),
    country_id: orNull(integer),
    country_name: orNull(text()),
    venue_id: orNull(integer),
    latitude: orNull(real),
    longitude: orNull(real),
    timezone: orNull(text()),
    rating: orNull(real),
    rating_count: { ...orNull(integer), since: 5 },
    prediscount_price: { ...orNull(integer), since: 5 },
    slug: { ...orNull(text()), since: 5 },
    url: { ...orNull(text()), since: 5 },
    summary: { ...orNull(text()), since: 5 },
    description: { ...orNull(text()), since: 5 },
    duration: { ...orNull(text()), since: 5 },
    languages: { ...orNull(text()), since: 5 },
    cancellation_policy: { ...orNull(text()), since: 5 },
    cancellation_window: { ...orNull(integer), since: 5 },
    supplier: { ...orNull(text()), since: 5 },
    venue_name: { ...orNull(text()), since: 5 },
    venue_address: { ...orNull(text()), since: 5 },
    venue_today: { ...orNull(text()), since: 5 },
    wheelchair_access: { ...orNull(bit), since: 5 },
    is_package: { ...orNull(bit), since: 5 },
    document: text(),
    checked_at: integer,
    changed_at: integer,
    stale: bit,
    ...expiry,
    detail_freshness: { ...text<'fresh' | 'stale' | 'expired' | 'unknown'>(), since: 3 },
  },
  currencies: { currency: text(), is_primary: bit, exponent: { ...integer, since: 5 } },
  product_prices: {
    product_id: integer,
    currency: text(),
    from_price: orNull(integer),
    lowest_price: { ...orNull(integer), since: 5 },
    ...printed,
    prediscount_price: { ...orNull(integer), since: 5 },
    checked_at: { ...integer, since: 4 },
    stale: { ...bit, since: 4 },
    expired_at: { ...integer, since: 4 },
    freshness: { ...text<'fresh' | 'stale' | 'expired'>(), since: 4 },
  },
  experiences: {
    experience_id: integer,
    language: text(),
    language_shown: text(),
    title: orNull(text()),
    tagline: orNull(text()),
    url: orNull(text()),
    address: orNull(text()),
    city_id: orNull(integer),
    city_name: orNull(text()),
    country_id: orNull(integer),
    country_name: orNull(text()),
    latitude: orNull(real),
    longitude: orNull(real),
    rating: orNull(real),
    rating_count: orNull(integer),
    from_price: orNull(integer),
    currency: text(),
    products: integer,
    sellable_products: integer,
    document: text(),
    checked_at: integer,
    changed_at: integer,
    stale: bit,
    expired_at: integer,
    freshness: text<'fresh' | 'stale' | 'expired'>(),
  },
  cities: {
    city_id: integer,
    language: text(),
    name: orNull(text()),
    country_id: orNull(integer),
    products: integer,
    sellable_products: integer,
  },
  countries: {
    country_id: integer,
    language: text(),
    name: orNull(text()),
    products: integer,
    sellable_products: integer,
  },
  withdrawn_products: {
    product_id: integer,
    title: orNull(text()),
    slug: { ...orNull(text()), since: 5 },
    city_id: { ...orNull(integer), since: 5 },
    city_name: { ...orNull(text()), since: 5 },
    successor_product_id: { ...orNull(integer), since: 5 },
    withdrawn_at: integer,
    reason: orNull(text()),
  },
  images: {
    product_id: integer,
    position: integer,
    image_key: text(),
    small_url: orNull(text()),
    medium_url: orNull(text()),
    large_url: orNull(text()),
    extra_large_url: orNull(text()),
    alt_text: orNull(text()),
    credit: orNull(text()),
    file: orNull(text()),
    verified_at: integer,
    expires_at: integer,
    document: text(),
  },
  checkout_information: {
    product_id: integer,
    language: text(),
    language_shown: { ...text(), since: 5 },
    has_timeslots: orNull(bit),
    has_dynamic_pricing: orNull(bit),
    must_know: orNull(text()),
    good_to_know: orNull(text()),
    document: text(),
    checked_at: integer,
    stale: bit,
    ...expiry,
  },
  variants: {
    product_id: integer,
    language: text(),
    language_shown: { ...text(), since: 5 },
    variant_id: integer,
    label: orNull(text()),
    variant_type: orNull(text()),
    source: text<'variants' | 'availability'>(),
    valid_with: { ...orNull(text()), since: 5 },
    visitors_details: { ...orNull(text()), since: 5 },
    group_ids: { ...orNull(text()), since: 5 },
    document: text(),
    checked_at: integer,
    stale: bit,
    ...expiry,
  },
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

export type ViewRow<View extends ViewName> = Row<(typeof views)[View]>;
