/*
 * Categories: parts of the catalogue with a cadence, a weight or a horizon of their own (specification §1 rule 2: the
 * right cycle depends on the partner's own categorisation).
 */

/** Conditions of a category. A product has to meet all that are set. */
export interface CategoryMatch {
  readonly product_ids?: readonly number[] | undefined;
  readonly experience_ids?: readonly number[] | undefined;
  readonly city_ids?: readonly number[] | undefined;
  readonly tag_ids?: readonly number[] | undefined;
  /** Name of the supplier, in any letter case. */
  readonly supplier?: string | undefined;
  readonly dynamic_pricing?: boolean | undefined;
  /** This many of the best-selling products, by reported orders. */
  readonly top_sellers?: number | undefined;
}

/** Facts of a product by which its category is chosen. */
export interface CategoryFacts {
  readonly product_id: number;
  readonly experience_ids: readonly number[];
  readonly city_id: number | null;
  readonly tag_ids: readonly number[];
  readonly supplier: string | null;
  readonly dynamic_pricing: boolean;
  /** 1 sells best; null if nothing was sold. */
  readonly seller_rank: number | null;
}

/** Returns the name of the first category that matches; null if none does. */
export function categoryOf(
  categories: readonly { readonly name: string; readonly match: CategoryMatch }[],
  facts: CategoryFacts,
): string | null {
  return categories.find(({ match }) => matches(match, facts))?.name ?? null;
}

function matches(match: CategoryMatch, facts: CategoryFacts): boolean {
  const { product_ids, experience_ids, city_ids, tag_ids, supplier, dynamic_pricing, top_sellers } = match;
  const { seller_rank: rank, city_id } = facts;
  return (
    (product_ids === undefined || product_ids.includes(facts.product_id)) &&
    (experience_ids === undefined || experience_ids.some((id) => facts.experience_ids.includes(id))) &&
    (city_ids === undefined || (city_id !== null && city_ids.includes(city_id))) &&
    (tag_ids === undefined || tag_ids.some((id) => facts.tag_ids.includes(id))) &&
    (supplier === undefined || facts.supplier?.toLowerCase() === supplier.toLowerCase()) &&
    (dynamic_pricing === undefined || facts.dynamic_pricing === dynamic_pricing) &&
    (top_sellers === undefined || (rank !== null && rank <= top_sellers))
  );
}

const halfLifeMs = 30 * 86_400_000;

/** Returns the decayed value `now` of a count (tickets, checks, views) made at an instant: it halves every 30 days. */
export function faded(now: number, count: number, counted_at: number | null): number {
  if (counted_at === null) return 0;
  return count * 0.5 ** (Math.max(0, now - counted_at) / halfLifeMs);
}
