import type { Instant } from '../kernel/clock.ts';
import { type Bound, type ExpressionBuilder, type RawBuilder, type Reads, Store } from '../kernel/sqlite/statements.ts';
import { type Delivery, deliveryOf, type ListedDelivery, listed, listedDeliveryOf } from './delivery.ts';
import { type DeliveryState, type InboxSchema, query } from './tables.ts';

export interface DeliveryFilter {
  readonly since: Instant | null;
  readonly state: DeliveryState | null;
  readonly limit: number;
}

/** Received = waiting + applied + superseded + quarantined, at all times. A replay counts as received again. */
export interface DeliveryCounts {
  readonly received: number;
  readonly waiting: number;
  readonly applied: number;
  readonly superseded: number;
  readonly quarantined: number;
}

/** Disk space of the deliveries. */
export interface StoredBytes {
  /** Bytes of stored bodies, and an allowance for each row. */
  readonly stored_bytes: number;
  /** The number of bodies removed to stay within the budget, since the inbox was created. */
  readonly bodies_gone: number;
}

/** Queries on the deliveries of a file that a daemon may be writing. */
export class DeliveryReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #counts = this.db.row(() =>
    query
      .selectFrom('inbox')
      .select(({ eb, fn, lit, ref, selectFrom }) => [
        eb(
          fn.coalesce(selectFrom('sqlite_sequence').select('seq').where('name', '=', 'delivery'), lit(0)),
          '-',
          ref('skipped_numbers'),
        ).as('received'),
        selectFrom('delivery')
          .where('state', '=', 'waiting')
          .select(fn.countAll<number>().as('count'))
          .$asScalar()
          .$notNull()
          .as('waiting'),
        'applied',
        'superseded',
        'quarantined',
      ]),
  );
  readonly #bytes = this.db.row(() => query.selectFrom('inbox').select(['stored_bytes', 'bodies_gone']));
  readonly #list = this.db.rows(({ since, state, limit }: Bound<DeliveryFilter>) =>
    query
      .selectFrom('delivery')
      .select(listed)
      .where(({ or, eb }) => or([eb(since, 'is', null), eb('received_at', '>=', since.$notNull())]))
      .where(({ or, eb }) => or([eb(state, 'is', null), eb('state', '=', state.$notNull())]))
      .orderBy('delivery_id', 'desc')
      .limit(limit),
  );
  readonly #find = this.db.row(({ delivery_id }: Bound<{ delivery_id: number }>) =>
    query.selectFrom('delivery').selectAll().where('delivery_id', '=', delivery_id),
  );
  readonly #replayable = this.db.row(({ since }: Bound<{ since: Instant }>) =>
    query
      .selectFrom('delivery')
      .where(settledSince(since))
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('coding', 'is not', 0).as('deliveries'),
        fn.countAll<number>().filterWhere('coding', '=', 0).as('gone'),
      ]),
  );
  readonly #last = this.db.rows(() => query.selectFrom('last_delivery').select(['subscription_id', 'received_at']));
  readonly #arrivals = this.db.rows(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('delivery').select(['subscription_id', 'received_at']).orderBy('delivery_id', 'desc').limit(limit),
  );

  counts(): DeliveryCounts {
    return this.#counts() ?? { received: 0, waiting: 0, applied: 0, superseded: 0, quarantined: 0 };
  }

  bytes(): StoredBytes {
    return this.#bytes() ?? { stored_bytes: 0, bodies_gone: 0 };
  }

  /** Newest first. */
  list(filter: DeliveryFilter): ListedDelivery[] {
    return this.#list(filter).map(listedDeliveryOf);
  }

  find(delivery_id: number): Delivery | null {
    const row = this.#find({ delivery_id });
    return row === null ? null : deliveryOf(row);
  }

  /**
   * Returns the number of deliveries that `replay` would repeat, and of those that it cannot repeat because their
   * bodies were removed.
   */
  replayable(since: Instant): { readonly deliveries: number; readonly gone: number } {
    return this.#replayable({ since }) ?? { deliveries: 0, gone: 0 };
  }

  /** Returns the arrivals of the newest `limit` deliveries, by subscription and in ascending order. */
  arrivals(limit: number): Map<string, Instant[]> {
    const newest = this.#arrivals({ limit }).toSorted((a, b) => a.received_at - b.received_at);
    const groups = Map.groupBy(newest, ({ subscription_id }) => subscription_id);
    return new Map([...groups].map(([id, each]) => [id, each.map(({ received_at }) => received_at)]));
  }

  /** Returns the arrival of each subscription's newest delivery, even if that delivery was deleted. */
  lastBySubscription(): Map<string, Instant> {
    return new Map(this.#last().map(({ subscription_id, received_at }) => [subscription_id, received_at]));
  }
}

/**
 * Returns the condition for deliveries that a replay repeats. Copies are left out, since their originals are repeated;
 * waiting ones are applied anyway.
 */
export function settledSince(since: RawBuilder<Instant>) {
  return ({ and, eb }: ExpressionBuilder<InboxSchema, 'delivery'>) =>
    and([eb('received_at', '>=', since), eb('replay_of', 'is', null), eb('state', '<>', 'waiting')]);
}
