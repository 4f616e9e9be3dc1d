import type { Instant } from '../../clock.ts';
import type { Tier } from '../../domain/catalogue/availability.ts';

/*
 * The views of schema/contract.json that this program itself reads, and what else the file has beside its tables: a test
 * holds the views equal to the contract.
 */

type Bit = 0 | 1;
type Fresh = 'fresh' | 'stale' | 'expired';

export interface Views {
  mirror_info: {
    contract_version: number;
    schema_version: number;
    written_by: string;
    feed_floor_seq: number;
    filled_at: Instant | null;
    feed_id: string;
    published_at: Instant | null;
  };
  images: {
    product_id: number;
    position: number;
    image_key: string;
    small_url: string | null;
    medium_url: string | null;
    large_url: string | null;
    extra_large_url: string | null;
    alt_text: string | null;
    credit: string | null;
    file: string | null;
    verified_at: Instant;
    expires_at: Instant;
    document: string;
  };
  freshness: {
    resource: string;
    tier: Tier | null;
    records: number;
    fresh: number;
    stale: number;
    expired: number;
    oldest_checked_at: Instant | null;
    promise_ms: number;
    kept: Bit;
  };
  subscriptions: {
    subscription_id: string;
    type: string;
    status: string | null;
    covered_products: number | null;
    last_delivery_at: Instant | null;
    trust: number | null;
  };
  availability_days: {
    product_id: number;
    date: string;
    currency: string;
    state: 'available' | 'sold_out' | 'not_on_sale';
    lowest_price: number | null;
    lowest_adult_price: number | null;
    price_variant_type: string | null;
    max_tickets: number | null;
    availability: number | null;
    max_tickets_per_order: number | null;
    checked_at: Instant;
    stale: Bit;
    expired_at: Instant;
    freshness: Fresh;
  };
  changes: {
    seq: number;
    at: Instant;
    product_id: number;
    kind: string;
    language: string | null;
    date: string | null;
    detail: string;
  };
  availability_error_rate: {
    product_id: number;
    tier: Tier;
    checks: number;
    wrong: number;
    orders: number;
    orders_wrong: number;
    rate: number | null;
    said_available: number;
    said_sold_out: number;
    said_price: number;
    tickets: number;
    unknown: number;
    unanswered: number;
    since_at: Instant;
  };
  product_places: {
    product_id: number;
    min_latitude: number;
    max_latitude: number;
    min_longitude: number;
    max_longitude: number;
    x: number;
    y: number;
    z: number;
  };
}

/** SQLite's own. */
export interface OfSqlite {
  /** The highest number that each AUTOINCREMENT has given out. */
  sqlite_sequence: { name: '_change'; seq: number };
  /** The second search index takes commands through the column that has its name. */
  search_terms: { search_terms: 'optimize' };
}
