import type { Examples } from '../service/shapes.rules.ts';
import type { Image } from './image.rules.ts';

/**
 * Sale status of a product: whether it can be bought. Any other value than the service's two known words is `unknown`,
 * and not sellable.
 */
export type SaleStatus = 'enabled' | 'disabled' | 'unknown';

/** Result of one read of a product (a list entry or the single-product read), in one language and one currency. */
export interface ProductEntry {
  readonly product_id: number;
  readonly title: string | null;
  readonly tagline: string | null;
  readonly sale_status: SaleStatus;
  readonly disabled_reason: string | null;
  readonly expected_reopening: string | null;
  /** Minor units of the requested currency; null if the read has no exact price in it. */
  readonly from_price: number | null;
  /** Price before the discount, in minor units; null if the read does not state it, or not exactly. */
  readonly prediscount_price?: number | null;
  readonly city_id: number | null;
  readonly city_name: string | null;
  readonly country_id: number | null;
  readonly country_name: string | null;
  /** Id of the main experience. */
  readonly venue_id: number | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  /** IANA name; null if the service names none that we know. */
  readonly timezone: string | null;
  readonly rating: number | null;
  /** Number of people who rated it; null if not stated. */
  readonly rating_count?: number | null;
  readonly tag_ids: readonly number[];
  /** Null if the read has no images member at all: then it is no evidence about images. */
  readonly images: readonly Image[] | null;
  /** The service's JSON without `images`: those are shown only by the view `images`, which fails closed. */
  readonly document: string;
  /** Number of its images that the service withdraws by a word, or whose credit cannot be read. */
  readonly images_hidden?: number;
  /** Instant at which the first of its signed image addresses ends; undefined: none is known to end. */
  readonly images_expire_at?: number | undefined;
  /** Members that are there and cannot be read, with an example of each; undefined: none. */
  readonly unread?: Examples | undefined;
}
