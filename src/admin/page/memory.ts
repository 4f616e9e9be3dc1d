import type { FeedChange } from '../../feed/changes.store.ts';
import type { ConditionPeriod } from '../../receiver/conditions.store.ts';
import type { ListedDelivery } from '../../receiver/delivery.ts';
import type { RecordSelection } from '../../schedule/record-reads.store.ts';
import type { ResyncState } from '../../schedule/resyncs.store.ts';

/** The data that the page shows in addition to the status: past events, and work in progress. */
export interface PageMemory {
  /** Start of the process, epoch milliseconds. */
  readonly started_at: number;
  /** The history of conditions; null: the inbox cannot be read. */
  readonly conditions: ConditionMemory | null;
  /** Resyncs that are not finished, oldest first. */
  readonly resyncs: readonly (ResyncState & { readonly selection: RecordSelection })[];
  /** Changes and deliveries, both newest first. */
  readonly changes: readonly TitledChange[];
  readonly deliveries: readonly ListedDelivery[];
}

/** A change with the title of its product; null: it has none, or is not mirrored any more. */
export type TitledChange = FeedChange & { readonly title: string | null };

export interface ConditionMemory {
  /** Instant since which conditions are watched; null: not yet. */
  readonly watched_since: number | null;
  /** The periods that lasted at some time in the last 90 days. */
  readonly periods: readonly ConditionPeriod[];
}

/** Milliseconds of history that the page shows. */
export const memoryMs = 90 * 86_400_000;
/** The most changes, and the most deliveries, that it lists. */
export const listedAtMost = 8;
