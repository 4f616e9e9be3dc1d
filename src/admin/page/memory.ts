import type { ConditionPeriod } from '../../inbox/conditions.ts';
import type { ListedDelivery } from '../../inbox/delivery.ts';
import type { FeedChange } from '../../mirror/changes/change-feed.ts';
import type { JobState } from '../../mirror/schedule/jobs.ts';
import type { RecordSelection } from '../../mirror/schedule/record-rows.ts';

/** What the page shows beside the status: what was, and what goes on. */
export interface PageMemory {
  /** When the process was started. */
  readonly started_at: number;
  /** When conditions were shown; null: the inbox cannot be read. */
  readonly conditions: ConditionMemory | null;
  /** Resyncs that are not finished, the oldest first. */
  readonly resyncs: readonly (JobState & { readonly selection: RecordSelection })[];
  /** Both the newest first. */
  readonly changes: readonly FeedChange[];
  readonly deliveries: readonly ListedDelivery[];
}

export interface ConditionMemory {
  /** Null: nobody has looked yet. */
  readonly watched_since: number | null;
  /** Those that lasted within the last 90 days. */
  readonly periods: readonly Pick<ConditionPeriod, 'code' | 'began_at' | 'ended_at' | 'says'>[];
}

/** How far back the page looks. */
export const memoryMs = 90 * 86_400_000;
/** How many changes and deliveries it lists. */
export const listedAtMost = 8;
