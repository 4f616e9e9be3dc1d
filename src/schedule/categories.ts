import { categoryOf, faded } from '../catalogue/category.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import { replan } from './replan-products.ts';
import type { Sync } from './sync.ts';

/** A slice of products in ascending order: up to `limit` products after the id `after`. */
export interface ProductSlice {
  readonly after: number;
  readonly limit: number;
}

export const allProducts: ProductSlice = { after: 0, limit: -1 };

/**
 * Assigns categories to a slice of products, and returns those whose category has changed. Does nothing if no
 * categories are configured.
 */
export function assignCategories({ mirror, clock, policy }: Sync, slice: ProductSlice): number[] {
  if (policy.categories.length === 0) {
    mirror.catalogue.categories.clear();
    return [];
  }
  const ranks = policy.categories.some(({ match }) => match.top_sellers !== undefined)
    ? ranksOf(mirror.catalogue.categories.sold(), clock.now())
    : new Map<number, number>();
  const moved: number[] = [];
  for (const { category, ...facts } of mirror.catalogue.categories.facts(slice.after, slice.limit)) {
    const found = categoryOf(policy.categories, { ...facts, seller_rank: ranks.get(facts.product_id) ?? null });
    if (found === category) continue;
    mirror.catalogue.categories.assign({ product_id: facts.product_id, category: found });
    moved.push(facts.product_id);
  }
  return moved;
}

/** Assigns the category of one product, and replans its records if it has changed. */
export function assignCategory(sync: Sync, product_id: number): void {
  if (sync.policy.categories.length === 0) return;
  replan(sync, assignCategories(sync, { after: product_id - 1, limit: 1 }));
}

/** Ranks products by sales: 1 for the best-selling one; products without sales have no rank. */
function ranksOf(rows: readonly { product_id: number; sold: number; sold_at: Instant }[], now: Instant) {
  const selling = rows
    .map(({ product_id, sold, sold_at }) => ({ product_id, sold: faded(now, sold, sold_at) }))
    .sort((a, b) => b.sold - a.sold || a.product_id - b.product_id);
  return new Map(selling.map(({ product_id }, index) => [product_id, index + 1]));
}
