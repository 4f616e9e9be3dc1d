import type { Instant } from '../../../clock.ts';
import type { Tiers } from '../../../domain/catalogue/availability.ts';
import type { DueReason } from '../../../domain/schedule/record.ts';
import type { Tables } from '../../sql/tables.ts';

/** Whose dates: those of a product in a currency. */
export type OfProduct = Pick<Tables['day'], 'product_id' | 'currency'>;

/** When an answer was asked for and on which day of the venue: what its spans are stored with. */
export interface WindowRead {
  readonly product_id: number;
  readonly currency: string;
  readonly from: string;
  readonly sent_at: Instant;
  readonly now: Instant;
  readonly hash: string;
  readonly today: string;
  readonly tiers: Tiers;
  /** Why it was read; and whether dates of its window were read before: those that a first read adds are not told of in the change feed. */
  readonly reason: DueReason;
  readonly first: 'first' | 'again';
}
