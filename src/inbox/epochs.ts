import type { Instant } from '../clock.ts';
import { type Bound, pick, sql, type Writes } from '../sqlite/statements.ts';
import { type InboxTables, query } from './tables.ts';

/**
 * One callback address of a subscription. Its epoch grows with each rotation. It is accepted from `begun_at` on, and
 * before `until` (null: until a newer one is announced). The service got it at `announced_at` (null: not yet).
 */
export type CallbackEpoch = Readonly<InboxTables['callback_epoch']>;

export interface EpochTable {
  all(): CallbackEpoch[];
  newest(subscription_id: string): CallbackEpoch | undefined;
  add(subscription_id: string, epoch: number, at: Instant): void;
  announced(subscription_id: string, epoch: number, at: Instant): void;
  /**
   * Sets the end of older epochs. Repeated calls do not extend the grace period. An end in the far future, written by a
   * wrong clock, is shortened.
   */
  endOlder(subscription_id: string, epoch: number, until: Instant): void;
  /** Deletes the epochs that ended before `now`, except for the newest ones, so that their use is noticed. */
  forgetDropped(subscription_id: string, now: Instant): void;
  /** Replaces all epochs with these. */
  replace(epochs: readonly CallbackEpoch[]): void;
  /** Begins a new epoch for each subscription, not announced yet, and deletes all others. */
  beginAll(at: Instant): void;
}

/** The number of dropped epochs per subscription that are still recognised. */
const droppedKept = 4;

export function epochTable(db: Writes): EpochTable {
  const all = db.rows(() => query.selectFrom('callback_epoch').selectAll().orderBy('subscription_id').orderBy('epoch'));
  const newest = db.rows(({ subscription_id }: Bound<Pick<CallbackEpoch, 'subscription_id'>>) =>
    query
      .selectFrom('callback_epoch')
      .selectAll()
      .where('subscription_id', '=', subscription_id)
      .orderBy('epoch', 'desc')
      .limit(1),
  );
  const add = db.change((added: Bound<Pick<CallbackEpoch, 'subscription_id' | 'epoch' | 'begun_at'>>) =>
    query
      .insertInto('callback_epoch')
      .values({ subscription_id: added.subscription_id, epoch: added.epoch, begun_at: added.begun_at }),
  );
  const announced = db.change(({ subscription_id, epoch, at }: Bound<OfEpoch & { at: Instant }>) =>
    query
      .updateTable('callback_epoch')
      .set(({ fn }) => ({ announced_at: fn.coalesce('announced_at', at) }))
      .where('subscription_id', '=', subscription_id)
      .where('epoch', '=', epoch),
  );
  const endOlder = db.change(({ subscription_id, epoch, until }: Bound<OfEpoch & { until: Instant }>) =>
    query
      .updateTable('callback_epoch')
      .set(({ fn }) => ({ until: sql<Instant>`min(${fn.coalesce('until', until)}, ${until})` }))
      .where('subscription_id', '=', subscription_id)
      .where('epoch', '<', epoch),
  );
  const forgetDropped = db.change(({ subscription_id, now }: Bound<{ subscription_id: string; now: Instant }>) =>
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
  return {
    all: () => all.all(),
    newest: (subscription_id) => newest.get({ subscription_id }),
    add: (subscription_id, epoch, begun_at) => {
      add.run({ subscription_id, epoch, begun_at });
    },
    announced: (subscription_id, epoch, at) => {
      announced.run({ subscription_id, epoch, at });
    },
    endOlder: (subscription_id, epoch, until) => {
      endOlder.run({ subscription_id, epoch, until });
    },
    forgetDropped: (subscription_id, now) => {
      forgetDropped.run({ subscription_id, now });
    },
    replace: replacing(db),
    beginAll: beginningAll(db),
  };
}

function replacing(db: Writes): EpochTable['replace'] {
  const forget = db.change(() => query.deleteFrom('callback_epoch'));
  const put = db.change((epoch: Bound<CallbackEpoch>) =>
    query
      .insertInto('callback_epoch')
      .values(pick(epoch, ['subscription_id', 'epoch', 'begun_at', 'announced_at', 'until'])),
  );
  return (epochs) => {
    forget.run();
    for (const epoch of epochs) put.run(epoch);
  };
}

type OfEpoch = Pick<CallbackEpoch, 'subscription_id' | 'epoch'>;

function beginningAll(db: Writes): EpochTable['beginAll'] {
  const begin = db.change(({ at }: Bound<{ at: Instant }>) =>
    query
      .insertInto('callback_epoch')
      .columns(['subscription_id', 'epoch', 'begun_at'])
      .expression(({ selectFrom }) =>
        selectFrom('callback_epoch')
          .select(({ eb, fn }) => ['subscription_id', eb(fn.max('epoch'), '+', 1).as('epoch'), at.as('begun_at')])
          .groupBy('subscription_id'),
      ),
  );
  const dropOlder = db.change(() =>
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
  return (at) => {
    begin.run({ at });
    dropOlder.run();
  };
}
