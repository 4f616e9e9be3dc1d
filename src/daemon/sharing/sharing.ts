import type { Config, LoadedConfig } from '../../config/load.ts';
import type { SharedDeliveries } from '../../copies/postgres/deliveries.ts';
import type { Leadership } from '../../copies/postgres/lease.ts';
import type { PublishedState } from '../../copies/postgres/schema.ts';
import { CataloguedError, exitCodes } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Received } from '../../receiver/delivery.ts';
import type { Desk } from '../../receiver/inbox-desk.ts';

/** The resources that the leader of several instances shares with those that stand by. */
export interface Sharing {
  /** The name of this instance. */
  readonly name: string;
  readonly leadership: Pick<Leadership, 'trusted' | 'term'>;
  readonly deliveries: SharedDeliveries;
  /** Last instant at which the previous leader recorded that deliveries could be received; null: there was none. */
  readonly last_alive_at: number | null;
  /** The published state that the mirror is equal to; null: it continues from its own state. */
  readonly begun: PublishedState | null;
}

/** Returns whether other instances share the database with this one. */
export function isOneOfSeveral({ config, secrets }: LoadedConfig): boolean {
  return config.instance.advertise !== null && secrets.database_url !== null;
}

/** Returns the error for work that would call the service beside the leader. */
export function onlyTheLeader(): CataloguedError {
  return new CataloguedError('only-the-leader', 'only the leader of several instances calls the service', {
    exitCode: exitCodes.retryLater,
    hint: 'start the daemon (catalogued run): it passes on to the leader what it is asked',
  });
}

/** Returns the error for a replay: its copies would take numbers that the database assigns. */
export function noReplay(): CataloguedError {
  return new CataloguedError('no-replay', 'deliveries of several instances cannot be applied once more', {
    exitCode: exitCodes.configuration,
    hint: 'read again what they named: catalogued resync',
  });
}

/** Deliveries that are stored in one statement. Each is in memory until then. */
const storedTogether = 200;

interface Waiting {
  readonly delivery: Received;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Keeps deliveries in the database, for all instances. Each is durable there before it is answered. Logs the beginning and
 * the end of failures.
 */
export class SharedDesk implements Desk {
  readonly #deliveries: SharedDeliveries;
  readonly #log: Logger;
  /** Deliveries that arrive while a group is stored form the next group. A flood takes as many round trips as it lasts. */
  readonly #waiting: Waiting[] = [];
  #isStoring = false;
  #failing = false;

  constructor(deliveries: SharedDeliveries, log: Logger) {
    this.#deliveries = deliveries;
    this.#log = log;
  }

  keep(delivery: Received): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ delivery, resolve, reject });
    if (!this.#isStoring) void this.#store();
    return promise;
  }

  async #store(): Promise<void> {
    this.#isStoring = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, storedTogether);
      try {
        await this.#deliveries.store(group.map(({ delivery }) => delivery));
        if (this.#failing) this.#log.info('deliveries are stored again');
        this.#failing = false;
        for (const { resolve } of group) resolve();
      } catch (error) {
        if (!this.#failing)
          this.#log.error({ err: error }, 'the database does not take deliveries: they are answered 503');
        this.#failing = true;
        for (const { reject } of group) reject(error);
      }
    }
    this.#isStoring = false;
  }
}

/** Returns the names under which the admin interface is reached. Other instances use the advertised one. */
export function hostsOf({ admin, instance }: Config): readonly string[] {
  return instance.advertise === null ? admin.hosts : [...admin.hosts, new URL(instance.advertise).hostname];
}
