/*
 * Estimates how much shoppers are interested in a product, and in which of its dates: the harm that an outdated copy of
 * it does. It is counted in views, which lose half their weight in 30 days (category.rules.ts). Until a product has enough
 * views of its own, its place in the service's order of popularity is used instead.
 */

/**
 * Number of views that a sold ticket counts as. A live check counts as one view. So ten checks count as a ticket, as in
 * searches.
 */
export const viewsOfTicket = 10;

/** Number of views of a product that count as much as its place in the list. */
const priorViews = 10;

/**
 * Upper limit of a product's share of all interest: this share, or this many times the average product's, whichever is
 * higher.
 */
const mostShare = 0.1;
const mostTimes = 5;

/** Facts about shoppers' interest in one product. */
export interface Interest {
  /** Its place in the service's order of popularity, from 1; null if unknown. */
  readonly list_place: number | null;
  /** Its views, decayed until now, for any date. */
  readonly views: number;
}

/**
 * Returns the interest in one of `products` products. 1 is the interest in the average product before anything was
 * seen.
 */
export function interestIn({ list_place, views }: Interest, products: number): number {
  return expected(list_place, products) + views / priorViews;
}

/**
 * Returns the interest expected from the place in the list. It falls with the cube root of the place, far more mildly
 * than sales do; its mean over all places is 1.
 */
function expected(list_place: number | null, products: number): number {
  if (list_place === null) return 1;
  return (2 / 3) * Math.cbrt(Math.max(products, list_place) / list_place);
}

/** Interest in all products together, as far as the limit of a single product requires it. */
export interface AllInterest {
  readonly products: number;
  /** The highest interests, in descending order: as many as can reach the limit. */
  readonly greatest: readonly number[];
  /** Sum of all others. */
  readonly others: number;
}

export const noInterest: AllInterest = { products: 0, greatest: [], others: 0 };

/** Adds the interest in one product to that in all. */
export function addInterest({ products, greatest, others }: AllInterest, interest: number): AllInterest {
  const sorted = [...greatest, interest].sort((a, b) => b - a);
  const least = sorted.length * mostShare > 1 ? (sorted.pop() ?? 0) : 0;
  return { products: products + 1, greatest: sorted, others: others + least };
}

/**
 * Returns the highest interest that counts for one product. Each product that reaches it has the limit's share of the
 * whole, so that views made up by a script take no more than that from the others.
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

/**
 * Returns the share of all interest that belongs to the highest ones, if no more than `most` counts for one product.
 */
export function shareOfGreatest({ greatest, others }: AllInterest, most: number): number {
  const counted = sumOf(greatest.map((each) => Math.min(each, most)));
  return counted === 0 ? 0 : counted / (others + counted);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0);
}

/**
 * Number of views of a product that count as much as how all products' views are split over their windows. Six tickets:
 * with fewer, a single one says too much about its window, and too little about the others.
 */
const priorSplit = 60;

/** Number of products with equal views of all windows that count beside the real ones. */
const priorProducts = 1;

/**
 * Adds a product's views of each window to the split of all. A product counts once at most, so that views made up by a
 * script move no other product's windows.
 */
export function addSplit(split: readonly number[], views: readonly number[]): number[] {
  const all = sumOf(views) + priorSplit;
  const parts = Array.from({ length: Math.max(split.length, views.length) }, (_, part) => part);
  return parts.map((part) => (split[part] ?? 0) + (views[part] ?? 0) / all);
}

/**
 * Returns the interest in one window of a product's dates, relative to the average window. `views` holds the views of
 * each window that named a date, `split` those of all products (`addSplit`). Without views all are 1, and their mean
 * always is.
 */
export function windowInterest(views: readonly number[], part: number, split: readonly number[]): number {
  const usual = views.map((_, each) => priorProducts + (split[each] ?? 0));
  const expected = (priorSplit * (usual[part] ?? 0)) / sumOf(usual);
  return (views.length * ((views[part] ?? 0) + expected)) / (sumOf(views) + priorSplit);
}
