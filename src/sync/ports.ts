import type { Chance, Clock } from '../clock.ts';
import type { Extent } from '../domain/record-kinds.ts';
import type { Logger } from '../log.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { StaleAfter } from '../mirror/promises.ts';
import type { Upstream } from '../upstream/client.ts';

/** What is mirrored and how often it is read: the configuration, as the work needs it. */
export interface Policy {
  readonly extent: Extent;
  readonly cadence: StaleAfter;
  readonly daysPerRequest: number;
  /** Products that the list brings and the configuration leaves out. */
  readonly excluded: ReadonlySet<number>;
  /** Products that are mirrored although the list's filter may leave them out. */
  readonly included: readonly number[];
}

/** What the work reaches through. */
export interface SyncPorts {
  readonly upstream: Upstream;
  readonly mirror: Mirror;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Logger;
  readonly policy: Policy;
  /** Told after each page of a walk: it may have made new records due. */
  progressed(): void;
}
