/*
 * How much shoppers look at a product, and at which of its dates: what a stale copy of it harms. Counted in views, which
 * fade by half in thirty days (category.ts). Until a product's own views tell, its place in the service's order of
 * popularity stands for them.
 */

/** A ticket sold counts as so many views, and a live check as one: ten checks are a ticket, as in searches. */
export const viewsOfTicket = 10;

/** So many views of a product tell as much as its place in the list. */
const priorViews = 10;

/** However often a product was seen, its share of all interest is at most this, or so many times the average one's. */
const mostShare = 0.1;
const mostTimes = 5;

/** What is known of shoppers' interest in one product. */
export interface Interest {
  /** Its place in the service's order of popularity, from 1; null: unknown. */
  readonly list_place: number | null;
  /** Views of it by now, whatever their date. */
  readonly views: number;
}

/** Returns the interest in one of so many products, where 1 is that in the average product before anything was seen. */
export function interestIn({ list_place, views }: Interest, products: number): number {
  return expected(list_place, products) + views / priorViews;
}

/** Falls with the cube root of the place, far more mildly than sales do; its mean over all places is 1. */
function expected(list_place: number | null, products: number): number {
  if (list_place === null) return 1;
  return (2 / 3) * Math.cbrt(Math.max(products, list_place) / list_place);
}

/** The interest in all products together, as far as a limit for each of them needs it. */
export interface AllInterest {
  readonly products: number;
  /** The greatest, in descending order: as many as can reach the limit. */
  readonly greatest: readonly number[];
  /** The sum of all others. */
  readonly others: number;
}

export const noInterest: AllInterest = { products: 0, greatest: [], others: 0 };

/** Adds one product's interest to that in all. */
export function addInterest({ products, greatest, others }: AllInterest, interest: number): AllInterest {
  const sorted = [...greatest, interest].sort((a, b) => b - a);
  const least = sorted.length * mostShare > 1 ? (sorted.pop() ?? 0) : 0;
  return { products: products + 1, greatest: sorted, others: others + least };
}

/**
 * Returns the most interest that counts of one product: those that reach it have the limit's share of the whole each, so
 * that views that a script has made up take no more from the others than that.
 */
export function mostInterest({ products, greatest, others }: AllInterest): number {
  const share = Math.max(mostShare, mostTimes / Math.max(products, 1));
  let most = Number.MAX_VALUE;
  for (const [above, interest] of greatest.entries()) {
    if (above * share >= 1) break;
    most = (share * (others + sumOf(greatest.slice(above)))) / (1 - above * share);
    if (interest <= most) break;
  }
  return most;
}

/** Returns what share of all the greatest have, where no more than `most` counts of one product. */
export function shareOfGreatest({ greatest, others }: AllInterest, most: number): number {
  const counted = sumOf(greatest.map((each) => Math.min(each, most)));
  return counted === 0 ? 0 : counted / (others + counted);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0);
}

/**
 * Returns how much more than the average of a product's windows of dates one is looked at, given the views of each that
 * had a date; without any all are 1, and their mean always is.
 */
export function windowInterest(views: readonly number[], part: number): number {
  return (views.length * (views[part] ?? 0) + priorViews) / (sumOf(views) + priorViews);
}
