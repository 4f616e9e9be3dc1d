/*
 * Decides whether the service has stopped sending a member that most products used to carry. Nothing fails then: prices,
 * images or the sale status are just empty, read by read.
 */

/** Members of the service's answers without which a shop notices. */
export const watchedFields = [
  'title',
  'sale_status',
  'price',
  'images',
  'description',
  'city_id',
  'geolocation',
  'timezone',
  'total_retail_price_incl_vat',
  'max_tickets',
] as const;

export type WatchedField = (typeof watchedFields)[number];

/** What share of products carries a field now, and usually. */
export interface FieldShare {
  readonly field: WatchedField;
  readonly usual: number;
  readonly share: number;
}

/** Fewer products say nothing about a service. */
const fewestProducts = 5;
/** Carried by so many, it is a part of the answer; below half of what is usual, it is gone from most. */
const carriedByMost = 0.8;
/** By so much falls what is usual in a day: what stays away for three weeks was taken out of the answers for good. */
const forgottenPerDay = 0.01;
const dayMs = 86_400_000;

/** Returns what share carries a field, out of one value a product: 1 if it does, null if it cannot. Null: too few can. */
export function shareOf(carried: readonly (0 | 1 | null)[]): number | null {
  const able = carried.filter((each) => each !== null);
  return able.length < fewestProducts ? null : able.filter((each) => each === 1).length / able.length;
}

/** Returns what is usual after a look: at once as much as there is, and slowly less. */
export function usualNow(before: number | null, share: number, elapsed_ms: number): number {
  const kept = (before ?? 0) - (forgottenPerDay * Math.max(0, elapsed_ms)) / dayMs;
  return Math.max(share, kept);
}

/** Tells whether a field is gone from most of the products that used to carry it. */
export function isGone({ usual, share }: Pick<FieldShare, 'usual' | 'share'>): boolean {
  return usual >= carriedByMost && share < usual / 2;
}
