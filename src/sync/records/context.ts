import type { Chance, Clock, Entropy } from '../../clock.ts';
import type { CategoryMatch } from '../../domain/catalogue/category.ts';
import type { RemovalLimits } from '../../domain/sale/absence.ts';
import type { Extent } from '../../domain/schedule/record-kinds.ts';
import type { RetryBudget } from '../../domain/schedule/retry-budget.ts';
import type { Logger } from '../../log.ts';
import type { Mirror } from '../../mirror/mirror.ts';
import type { StaleAfter } from '../../mirror/schedule/stale.ts';
import type { ServiceReads, Upstream } from '../../upstream/client.ts';
import type { SharedAnswer } from './shared-answer.ts';

/** What is read of the products of one category, and how often. */
export interface ProductPolicy {
  readonly extent: Extent;
  readonly cadence: StaleAfter;
  /** How much a stale product of it costs, where 1 is usual. */
  readonly weight: number;
}

/** What is mirrored and how often it is read: the configuration, as the work needs it. */
export interface Policy extends ProductPolicy {
  readonly categories: readonly { readonly name: string; readonly match: CategoryMatch }[];
  /** The policy of a category; of null, and of one that is not configured any more, that of everything. */
  of(category: string | null): ProductPolicy;
  readonly daysPerRequest: number;
  readonly pageSize: number;
  /** Whether the product list comes in the order of popularity. */
  readonly listOrdered: boolean;
  /** Null: every record is read by its cadence alone. */
  readonly adaptive: {
    /** Calls beyond what the cadences need, as a share of them. */
    readonly extra: number;
    /** No record is read again earlier than this, in milliseconds. */
    readonly floor: number;
  } | null;
  /** More products missing at once than this are held back. */
  readonly removals: RemovalLimits;
  /** The ceiling, in calls a second. */
  readonly ceiling: number;
  /** How long the service holds a notification, and how long it tries again, at most; milliseconds. */
  readonly notifications: { readonly hold: number; readonly retries: number };
  /** Products that the list brings and the configuration leaves out. */
  readonly excluded: ReadonlySet<number>;
  /** Products that are mirrored although the list's filter may leave them out. */
  readonly included: readonly number[];
}

/** What all work reaches through. */
export interface Ports {
  readonly upstream: Upstream;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly entropy: Entropy;
  readonly log: Logger;
  readonly policy: Policy;
  readonly retries: RetryBudget;
  /** Whether the service has the path of single products: all whose reads are refused meanwhile wait for one answer. */
  readonly productPath: SharedAnswer<PathVerdict>;
}

/** Whether a product's 404 or 405 speaks of the product; `unknown`: the service said neither. */
export type PathVerdict = 'offered' | 'not-offered' | 'unknown';

/** What refreshing a record reaches through: the service in the record's lane. */
export interface SyncPorts extends Omit<Ports, 'upstream'> {
  readonly upstream: ServiceReads;
  /** Told after each page of a walk: it may have made new records due. */
  progressed(): void;
}
