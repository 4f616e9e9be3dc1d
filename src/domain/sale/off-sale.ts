import type { SaleStatus } from '../catalogue/product.ts';
import type { Due } from '../schedule/record.ts';

/*
 * Availability that says "not on sale", beside what the product's own reads say. Both come from caches of the service, so
 * neither is believed against the other: only a product whose own read says so is off sale.
 */

/** What such an answer means: `undecided` where the product's own reads do not say that it is on sale either. */
export type OffSale = 'confirmed' | 'contradicted' | 'undecided';

export function judgeOffSale(product: { readonly sale_status: SaleStatus; readonly sellable: boolean }): OffSale {
  if (product.sale_status === 'disabled') return 'confirmed';
  return product.sellable ? 'contradicted' : 'undecided';
}

/** A service answers from its caches for seconds: nothing is asked again before a minute has passed. */
const firstMs = 60_000;

/** The next look at dates that contradict their product since `since_at`: after a minute, then twice as late each time, up to the cadence. */
export function contradictedLook(since_at: number, sent_at: number, cadence: number): Due {
  return { at: sent_at + waitOf(since_at, sent_at, cadence), reason: 'sale-status-doubted' };
}

/**
 * Whether the product's own read is to be repeated too: at every look but for those that follow it, because each one that
 * says "on sale" makes the dates due again.
 */
export function isOwnReadDoubted(own_read_at: number, since_at: number, sent_at: number, cadence: number): boolean {
  const age = sent_at - own_read_at;
  return age < 0 || age > waitOf(since_at, sent_at, cadence) / 2;
}

function waitOf(since_at: number, sent_at: number, cadence: number): number {
  return Math.min(Math.max(sent_at - since_at, firstMs), cadence);
}

/** Contradicted for longer than this by this many products at once, it is the service's habit and not one product's mistake. */
export const contradictedAlarm = { products: 5, after_ms: 3_600_000 } as const;
