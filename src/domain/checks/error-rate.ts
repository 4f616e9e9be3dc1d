import type { OfferStanding } from './check.ts';

/*
 * How often the mirror was wrong when it mattered: the share of checks and orders in which it said something else than
 * the service.
 */

/** Whether the mirror was right: if not, what it had said. Unknown: it had no row, or reads contradicted each other. */
export type Rating = 'right' | 'said-available' | 'said-sold-out' | 'said-price' | 'unknown';

/** What was shown beside what the service says now, of the same question. */
export function rateCheck(shown: OfferStanding | null, now: OfferStanding): Rating {
  if (shown === null || isContradicted(shown) || isContradicted(now)) return 'unknown';
  if (shown.sellable !== now.sellable) return shown.sellable ? 'said-available' : 'said-sold-out';
  return shown.price === now.price ? 'right' : 'said-price';
}

/** Two reads contradict each other about the sale: nobody can be held to either. */
function isContradicted({ reasons }: OfferStanding): boolean {
  return reasons.includes('sale-contradicted');
}

/** The service's codes for an order of something that is not there. */
const gone = new Set([
  'variants_not_available',
  'variant_not_available',
  'timeslot_not_available',
  'date_not_available',
  'not_enough_tickets',
  'sold_out',
  'checkout_disabled',
]);

/** Whether a failed order says that something was not there. Without a code, or with another, it says nothing of that. */
export function saysGone(code: string | null): boolean {
  return code !== null && gone.has(code.trim().toLowerCase());
}

/** What was shown beside how an order of it ended; null where that says nothing about availability. */
export function rateOrder(
  shown: OfferStanding | null,
  { outcome, code }: { readonly outcome: 'confirmed' | 'failed'; readonly code: string | null },
): Rating | null {
  if (outcome === 'failed' && !saysGone(code)) return null;
  if (shown === null || isContradicted(shown)) return 'unknown';
  if (outcome === 'confirmed') return shown.sellable ? 'right' : 'said-sold-out';
  return shown.sellable ? 'said-available' : 'right';
}

/** Counts of one kind of report. */
export interface ReportCounts {
  readonly checks: number;
  readonly wrong: number;
  readonly orders: number;
  readonly orders_wrong: number;
}

/** The share in which the mirror was wrong; null where nobody has asked yet. */
export function errorRate({ checks, wrong, orders, orders_wrong }: ReportCounts): number | null {
  return checks + orders === 0 ? null : (wrong + orders_wrong) / (checks + orders);
}
