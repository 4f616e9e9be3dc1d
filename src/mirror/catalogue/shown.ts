import type { Instant } from '../../clock.ts';
import type { Bound, Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** A date as storefronts see it. */
export interface ShownDay {
  readonly date: string;
  readonly currency: string;
  readonly state: string;
  /** Price that shops print, in minor units. */
  readonly lowest_adult_price: number | null;
  /** Type of the tickets that have this price; null: there is none. */
  readonly price_variant_type: string | null;
  readonly checked_at: Instant;
  readonly stale: 0 | 1;
}

/** An image as storefronts see it. */
export interface ShownImage {
  readonly position: number;
  readonly credit: string | null;
  readonly alt_text: string | null;
  readonly verified_at: Instant;
}

/** Data of a product as storefronts show it, for display: read through the same views. */
export interface ShownReads {
  /** Returns the dates in ascending order, starting at `from`. */
  days(product_id: number, from: string, limit: number): ShownDay[];
  images(product_id: number): ShownImage[];
}

export function shownReads(db: Reads): ShownReads {
  const days = db.rows(({ product_id, from, limit }: Bound<{ product_id: number; from: string; limit: number }>) =>
    query
      .selectFrom('availability_days')
      .select(['date', 'currency', 'state', 'lowest_adult_price', 'price_variant_type', 'checked_at', 'stale'])
      .where('product_id', '=', product_id)
      .where('date', '>=', from)
      .orderBy('date')
      .orderBy('currency')
      .limit(limit),
  );
  const images = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('images')
      .select(['position', 'credit', 'alt_text', 'verified_at'])
      .where('product_id', '=', product_id)
      .orderBy('position'),
  );
  return {
    days: (product_id, from, limit) => days.all({ product_id, from, limit }),
    images: (product_id) => images.all({ product_id }),
  };
}
