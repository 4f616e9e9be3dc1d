import type { Instant } from '../../../clock.ts';
import type { SaleStatus } from '../../../domain/catalogue/product.ts';
import type { DueReason } from '../../../domain/schedule/record.ts';

/** Which read an entry comes from, and what it may say: see `Editions`. */
export interface ProductRead {
  readonly source: 'list' | 'detail';
  readonly language: string;
  readonly currency: string;
  readonly primary: { readonly language: string; readonly currency: string };
  readonly sent_at: Instant;
  readonly now: Instant;
  readonly stale_at: Instant;
  /** Why it was read. */
  readonly reason: DueReason;
  /** `true`: of what it says only the sale status and the images are stored. */
  readonly keeps?: boolean;
}

/** What storing an entry came to. */
export interface StoredProduct {
  readonly outcome: 'added' | 'returned' | 'changed' | 'unchanged' | 'late';
  /** The sale status before, and after. */
  readonly was: SaleStatus | null;
  readonly is: SaleStatus;
  /** What the read says of its sale: `back` from being off sale, still `on`, or neither. */
  readonly sale: 'back' | 'on' | 'neither';
  /** Its price is another one than the last read of it said. */
  readonly repriced: boolean;
  /** A list entry has changed, so the single-product read stored over it may be outdated too. */
  readonly detail_doubted: boolean;
  /** Members of the document that differ from the last read of the same kind, and when that was sent; null: there was none. */
  readonly fields: readonly string[];
  readonly before_at: Instant | null;
}
