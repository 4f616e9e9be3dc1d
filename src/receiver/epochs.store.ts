import type { Instant } from '../kernel/clock.ts';
import { type Bound, pick, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/**
 * One callback address of a subscription. Its epoch grows with each rotation. It is accepted from `begun_at` on, and
 * before `until` (null: until a newer one is announced). The service got it at `announced_at` (null: not yet).
 */
export type CallbackEpoch = Readonly<InboxTables['callback_epoch']>;

type OfSubscription = { subscription_id: string };
type OfEpoch = OfSubscription & { epoch: number };

/** The number of dropped epochs per subscription that are still recognised. */
const droppedKept = 4;

export class EpochTable extends Store<Writes> {
  readonly all = this.db.rows(() =>
    query.selectFrom('callback_epoch').selectAll().orderBy('subscription_id').orderBy('epoch'),
  );
  readonly newest = this.db.row(({ subscription_id }: Bound<OfSubscription>) =>
    query
      .selectFrom('callback_epoch')
      .selectAll()
      .where('subscription_id', '=', subscription_id)
      .orderBy('epoch', 'desc')
      .limit(1),
  );
  readonly add = this.db.change((added: Bound<OfEpoch & { begun_at: Instant }>) =>
    query.insertInto('callback_epoch').values(pick(added, ['subscription_id', 'epoch', 'begun_at'])),
  );
  readonly announced = this.db.change(({ subscription_id, epoch, at }: Bound<OfEpoch & { at: Instant }>) =>
    query
      .updateTable('callback_epoch')
      .set(({ fn }) => ({ announced_at: fn.coalesce('announced_at', at) }))
      .where('subscription_id', '=', subscription_id)
      .where('epoch', '=', epoch),
  );
  /**
   * Sets the end of older epochs. Repeated calls do not extend the grace period. An end in the far future, written by a
   * wrong clock, is shortened.
   */
  readonly endOlder = this.db.change(({ subscription_id, epoch, until }: Bound<OfEpoch & { until: Instant }>) =>
    query
      .updateTable('callback_epoch')
      .set(({ fn }) => ({ until: sql<Instant>`min(${fn.coalesce('until', until)}, ${until})` }))
      .where('subscription_id', '=', subscription_id)
      .where('epoch', '<', epoch),
  );
  /** Deletes the epochs that ended before `now`, except for the newest ones, so that their use is noticed. */
  readonly forgetDropped = this.db.change(({ subscription_id, now }: Bound<OfSubscription & { now: Instant }>) =>
    query
      .deleteFrom('callback_epoch')
      .where('subscription_id', '=', subscription_id)
      .where('epoch', 'in', ({ selectFrom }) =>
        selectFrom('callback_epoch')
          .select('epoch')
          .where('subscription_id', '=', subscription_id)
          .where('until', '<=', now)
          .orderBy('epoch', 'desc')
          .limit(sql.lit(-1))
          .offset(sql.lit(droppedKept)),
      ),
  );
  readonly #forget = this.db.change(() => query.deleteFrom('callback_epoch'));
  readonly #put = this.db.change((epoch: Bound<CallbackEpoch>) =>
    query
      .insertInto('callback_epoch')
      .values(pick(epoch, ['subscription_id', 'epoch', 'begun_at', 'announced_at', 'until'])),
  );
  readonly #begin = this.db.change(({ at }: Bound<{ at: Instant }>) =>
    query
      .insertInto('callback_epoch')
      .columns(['subscription_id', 'epoch', 'begun_at'])
      .expression(({ selectFrom }) =>
        selectFrom('callback_epoch')
          .select(({ eb, fn }) => ['subscription_id', eb(fn.max('epoch'), '+', 1).as('epoch'), at.as('begun_at')])
          .groupBy('subscription_id'),
      ),
  );
  readonly #dropOlder = this.db.change(() =>
    query
      .deleteFrom('callback_epoch as old')
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom('callback_epoch as newer')
            .select('newer.epoch')
            .whereRef('newer.subscription_id', '=', 'old.subscription_id')
            .whereRef('newer.epoch', '>', 'old.epoch'),
        ),
      ),
  );

  /** Replaces all epochs with these. */
  replace(epochs: readonly CallbackEpoch[]): void {
    this.#forget();
    for (const epoch of epochs) this.#put(epoch);
  }

  /** Begins a new epoch for each subscription, not announced yet, and deletes all others. */
  beginAll(at: Instant): void {
    this.#begin({ at });
    this.#dropOlder();
  }
}
