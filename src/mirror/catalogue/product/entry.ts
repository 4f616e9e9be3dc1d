import type { Instant } from '../../../clock.ts';
import type { SaleStatus } from '../../../domain/catalogue/product.ts';
import type { DueReason } from '../../../domain/schedule/record.ts';

/** The read that an entry comes from, and what that read may set. */
export interface ProductRead {
  readonly source: 'list' | 'detail';
  readonly language: string;
  readonly currency: string;
  readonly primary: { readonly language: string; readonly currency: string };
  readonly sent_at: Instant;
  readonly now: Instant;
  readonly stale_at: Instant;
  /** Reason for the read. */
  readonly reason: DueReason;
  /** `true`: only the sale status and the images of the entry are stored. */
  readonly onlySaleAndImages?: boolean;
}

/** Result of storing an entry. */
export interface StoredProduct {
  readonly outcome: 'added' | 'returned' | 'changed' | 'unchanged' | 'late';
  /** The sale status before, and after. */
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  /** Effect of the read on the sale: `back` on sale after being off sale, still `on` sale, or neither. */
  readonly sale: 'back' | 'on' | 'neither';
  /** True if the price differs from that of the last read, by more than the exchange rate. */
  readonly repriced: boolean;
  /** True if it differs from the last read of the same kind only by the exchange rate: that is no change of the product. */
  readonly by_rate: boolean;
  /** A list entry has changed, so the single-product read stored over it may be outdated too. */
  readonly detail_doubted: boolean;
  /** Members of the document that differ from the last read of the same kind, and when that was sent; null: there was none. */
  readonly fields: readonly string[];
  readonly before_at: Instant | null;
}
