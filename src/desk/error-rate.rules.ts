import type { OfferStanding } from './verdict.rules.ts';

/*
 * Computes how often the mirror was wrong when it mattered: the share of checks and orders in which it disagreed with
 * the service.
 */

/**
 * Rating of the mirror: right, or the kind of its error. Unknown: it had no row, or reads contradicted each other.
 */
export type Rating = 'right' | 'said-available' | 'said-sold-out' | 'said-price' | 'unknown';

/** Compares the shown offer with the service's current answer to the same question. */
export function rateCheck(shown: OfferStanding | null, now: OfferStanding): Rating {
  if (shown === null || isContradicted(shown) || isContradicted(now)) return 'unknown';
  if (shown.sellable !== now.sellable) return shown.sellable ? 'said-available' : 'said-sold-out';
  return shown.price === now.price ? 'right' : 'said-price';
}

/** Returns whether reads contradict each other about the sale, or could not be read, so that neither counts. */
function isContradicted({ reasons }: OfferStanding): boolean {
  return reasons.includes('sale-contradicted') || reasons.includes('unreadable');
}

/** Error codes of the service for an order of something that is not available. */
const gone = new Set([
  'variants_not_available',
  'variant_not_available',
  'timeslot_not_available',
  'date_not_available',
  'not_enough_tickets',
  'sold_out',
  'checkout_disabled',
]);

/**
 * Returns whether a failed order proves that something was not available. Without a code, or with another code, it does
 * not.
 */
export function isGoneCode(code: string | null): boolean {
  return code !== null && gone.has(code.trim().toLowerCase());
}

/** Compares the shown offer with the outcome of an order; null if the outcome proves nothing about availability. */
export function rateOrder(
  shown: OfferStanding | null,
  { outcome, code }: { readonly outcome: 'confirmed' | 'failed'; readonly code: string | null },
): Rating | null {
  if (outcome === 'failed' && !isGoneCode(code)) return null;
  if (shown === null || isContradicted(shown)) return 'unknown';
  if (outcome === 'confirmed') return shown.sellable ? 'right' : 'said-sold-out';
  return shown.sellable ? 'said-available' : 'right';
}

/** Numbers of checks and orders, and how many of each found the mirror wrong. */
export interface ReportCounts {
  readonly checks: number;
  readonly wrong: number;
  readonly orders: number;
  readonly orders_wrong: number;
}

/**
 * Availability error rate at checkout: the goal that shops should stay below, and the limit that suppliers must meet.
 */
export const errorRateGoal = 0.01;
const errorRateLimit = 0.015;

/** Errors below this number show nothing: one change may be met by two checks. */
const fewestErrors = 3;
/** Probability below which chance is no explanation. It is small because the counts are judged every minute of a week. */
const chance = 0.001;

/**
 * Returns whether the mirror was wrong too often: at or above the limit, and more often than chance explains if the
 * goal is met.
 */
export function isOftenWrong({ checks, wrong, orders, orders_wrong }: ReportCounts): boolean {
  const [errors, reports] = [wrong + orders_wrong, checks + orders];
  return errors >= fewestErrors && errors >= errorRateLimit * reports && byChance(errors, reports) < chance;
}

/**
 * Returns the probability of at least so many errors in so many reports if each is wrong with the probability of the
 * goal (the exact binomial tail).
 */
function byChance(errors: number, reports: number): number {
  const odds = errorRateGoal / (1 - errorRateGoal);
  let logarithm = reports * Math.log1p(-errorRateGoal);
  for (let n = 0; n < errors; n += 1) logarithm += Math.log(((reports - n) / (n + 1)) * odds);
  let term = Math.exp(logarithm);
  let tail = term;
  for (let n = errors; n < reports && term > tail * 1e-9; n += 1) {
    term *= ((reports - n) / (n + 1)) * odds;
    tail += term;
  }
  return tail;
}

/** Returns the share of reports in which the mirror was wrong; null if there are no reports yet. */
export function errorRate({ checks, wrong, orders, orders_wrong }: ReportCounts): number | null {
  return checks + orders === 0 ? null : (wrong + orders_wrong) / (checks + orders);
}
