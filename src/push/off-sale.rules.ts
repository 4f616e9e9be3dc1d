import type { SaleStatus } from '../catalogue/product.rules.ts';
import { instant } from '../kernel/clock.ts';
import type { Due } from '../schedule/record.rules.ts';

/*
 * Compares availability answered as "not on sale" with the product's own reads. Both come from caches of the service,
 * so neither overrides the other. A product is off sale only if its own read shows it.
 */

/** Meaning of such an answer. `undecided`: the product's own reads do not show it on sale either. */
export type OffSale = 'confirmed' | 'contradicted' | 'undecided';

export function judgeOffSale(product: { readonly sale_status: SaleStatus; readonly sellable: boolean }): OffSale {
  if (product.sale_status === 'disabled') return 'confirmed';
  return product.sellable ? 'contradicted' : 'undecided';
}

/**
 * First pause. Also the time for which a service may answer from its caches: of two reads this far apart, the later one
 * is newer.
 */
const firstMs = 60_000;

/** An answer on whether a product is on sale. */
interface SaleSaid {
  readonly at: number;
  readonly says: 'on-sale' | 'not-on-sale';
}

/**
 * Returns which answer a live check uses if a product's own read and its dates disagree. If the own read is older than
 * any cache, the product has closed or reopened since then without an announcement: the mirror was wrong. Otherwise
 * either answer may be the old one, and the result is `sale-contradicted`.
 */
export function laterOf(own: SaleSaid, dates: SaleSaid): SaleSaid['says'] | 'sale-contradicted' {
  return dates.at - own.at > firstMs ? dates.says : 'sale-contradicted';
}

/**
 * Returns the next read of dates that have contradicted their product since `since_at`: after a minute, then at
 * doubling intervals up to the cadence.
 */
export function contradictedReread(since_at: number, sent_at: number, cadence: number): Due {
  return { at: instant(sent_at + waitOf(since_at, sent_at, cadence)), reason: 'sale-status-doubted' };
}

/**
 * Returns whether the product's own read is to be repeated too: with every read of the dates, except those that it has
 * caused itself, because each "on sale" answer makes the dates due again.
 */
export function isOwnReadDoubted(own_read_at: number, since_at: number, sent_at: number, cadence: number): boolean {
  const age = sent_at - own_read_at;
  return age < 0 || age > waitOf(since_at, sent_at, cadence) / 2;
}

function waitOf(since_at: number, sent_at: number, cadence: number): number {
  return Math.min(Math.max(sent_at - since_at, firstMs), cadence);
}
