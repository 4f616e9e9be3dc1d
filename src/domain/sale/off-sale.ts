import { instant } from '../../clock.ts';
import type { SaleStatus } from '../catalogue/product.ts';
import type { Due } from '../schedule/record.ts';

/*
 * Compares availability that says "not on sale" with the product's own reads. Both come from caches of the service, so
 * neither overrides the other: a product is off sale only if its own read says so.
 */

/** The meaning of such an answer: `undecided` if the product's own reads do not say on sale either. */
export type OffSale = 'confirmed' | 'contradicted' | 'undecided';

export function judgeOffSale(product: { readonly sale_status: SaleStatus; readonly sellable: boolean }): OffSale {
  if (product.sale_status === 'disabled') return 'confirmed';
  return product.sellable ? 'contradicted' : 'undecided';
}

/**
 * A service answers from its caches for seconds: of two reads this far apart the later one is also the newer, and the
 * first pause.
 */
const firstMs = 60_000;

/** An answer about whether a product is on sale. */
interface SaleSaid {
  readonly at: number;
  readonly says: 'on-sale' | 'not-on-sale';
}

/**
 * Returns what a live check says of a product whose own read and whose dates disagree. If the own read is older than any
 * cache, the product has closed or reopened since, unannounced: the mirror was wrong. Otherwise either may be the old
 * one, and nobody can say.
 */
export function laterOf(own: SaleSaid, dates: SaleSaid): SaleSaid['says'] | 'sale-contradicted' {
  return dates.at - own.at > firstMs ? dates.says : 'sale-contradicted';
}

/**
 * Returns the next look at dates that have contradicted their product since `since_at`: after a minute, then doubling
 * up to the cadence.
 */
export function contradictedLook(since_at: number, sent_at: number, cadence: number): Due {
  return { at: instant(sent_at + waitOf(since_at, sent_at, cadence)), reason: 'sale-status-doubted' };
}

/**
 * Tells whether to repeat the product's own read too: at every look except those that it causes itself, because each
 * "on sale" makes the dates due again.
 */
export function isOwnReadDoubted(own_read_at: number, since_at: number, sent_at: number, cadence: number): boolean {
  const age = sent_at - own_read_at;
  return age < 0 || age > waitOf(since_at, sent_at, cadence) / 2;
}

function waitOf(since_at: number, sent_at: number, cadence: number): number {
  return Math.min(Math.max(sent_at - since_at, firstMs), cadence);
}
