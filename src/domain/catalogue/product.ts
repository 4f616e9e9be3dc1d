import type { Image } from './image.ts';

/** Whether a product can be bought. What the service says beyond its two known words is `unknown`, and not sellable. */
export type SaleStatus = 'enabled' | 'disabled' | 'unknown';

/** `sale_status` of the service in the mirror's words. */
export function saleStatus(value: unknown): SaleStatus {
  if (value === 'available') return 'enabled';
  return value === 'unavailable' ? 'disabled' : 'unknown';
}

/** What one read (a list entry or the single-product read) says of a product, in one language and one currency. */
export interface ProductEntry {
  readonly product_id: number;
  readonly title: string | null;
  readonly tagline: string | null;
  readonly sale_status: SaleStatus;
  readonly disabled_reason: string | null;
  readonly expected_reopening: string | null;
  /** Minor units of the currency asked for; null where the read has no exact price in it. */
  readonly from_price: number | null;
  /** Of what it costs less than now; null where that is not said, or not exact. */
  readonly prediscount_price?: number | null;
  readonly city_id: number | null;
  readonly city_name: string | null;
  readonly country_id: number | null;
  readonly country_name: string | null;
  /** The main experience. */
  readonly venue_id: number | null;
  readonly latitude: number | null;
  readonly longitude: number | null;
  /** IANA name, or null where the service names none that we know. */
  readonly timezone: string | null;
  readonly rating: number | null;
  /** By how many people; null where it is not said. */
  readonly rating_count?: number | null;
  readonly tag_ids: readonly number[];
  /** Null where the read has no images member at all: then it says nothing about images. */
  readonly images: readonly Image[] | null;
  /** The service's JSON without `images`: those are shown by the view `images` alone, which fails closed. */
  readonly document: string;
  /** How many of its images and prices were left out: see `publishable`, and prices are never below zero. */
  readonly refused?: { readonly images: number; readonly prices: number };
}
