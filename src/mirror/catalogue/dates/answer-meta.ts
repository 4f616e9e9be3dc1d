import type { Instant } from '../../../clock.ts';
import type { Tiers } from '../../../domain/catalogue/availability.ts';
import type { DueReason } from '../../../domain/schedule/record.ts';
import type { Tables } from '../../sql/tables.ts';

/** Identifies a calendar: the dates of a product in a currency. */
export type OfProduct = Pick<Tables['day'], 'product_id' | 'currency'>;

/** Metadata of an availability answer, stored with its spans: the instant of the request, and the day at the venue. */
export interface AnswerMeta {
  readonly product_id: number;
  readonly currency: string;
  readonly from: string;
  readonly sent_at: Instant;
  readonly now: Instant;
  readonly hash: string;
  readonly today: string;
  readonly tiers: Tiers;
  /** Reason for the read. */
  readonly reason: DueReason;
  /** True if any date of its window was read before. The change feed does not report dates that a first read adds. */
  readonly readBefore: boolean;
  /** Share by which the exchange rate may have moved its prices since the last read; left out: they are not converted. */
  readonly mostRateMove?: number;
}
