import { type Instant, instant } from '../../clock.ts';
import type { AttemptFailure } from '../../domain/push/attempt-failure.ts';
import type { AddressOwner } from '../../domain/push/callback-epoch.ts';
import { notUnderstood } from '../../domain/push/notification.ts';
import type { Trust } from '../../domain/push/trust.ts';
import { type Bound, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Row = Tables['_subscription'];
type Key = Pick<Row, 'subscription_id'>;

/** Facts from a read or a PUT. A null keeps the previous value. */
export interface SubscriptionFacts {
  readonly status: string;
  readonly type: string | null;
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
  readonly address: AddressOwner | null;
  readonly epoch: number | null;
  readonly at: Instant;
}

/** Reason why an attempt failed: `kind` decides what happens next, `message` is for people. */
export interface FailedAttempt {
  readonly kind: AttemptFailure;
  readonly message: string;
}

/** Knowledge about subscriptions, from reads and attempts. */
export interface SubscriptionLearning {
  learn(subscription_id: string, facts: SubscriptionFacts): void;
  /** Records that the service has no subscription of this id. */
  missing(subscription_id: string, at: Instant): void;
  /** Records that the master secret has changed: every address that the service calls is void. */
  addressesVoid(): void;
  /** Records a failed read, and the instant at which the next one may be attempted. */
  unread(subscription_id: string, failures: number, not_before: Instant): void;
  compared(subscription_id: string, differences: readonly string[]): void;
  put(subscription_id: string, put: { at: Instant; hash: string }): void;
  tookOver(subscription_id: string, at: Instant): void;
  /** Records an attempt that failed, or that has to prove itself (`failure` null). */
  tried(
    subscription_id: string,
    attempt: { at: Instant; failures: number; failure: FailedAttempt | null; not_before: Instant | null },
  ): void;
  delivered(last: ReadonlyMap<string, number>): void;
  /** Records a delivery that nobody understood. Returns the number of them within an hour and since the last good one. */
  notUnderstood(subscription_id: string, at: Instant): number;
  /** Records a good delivery. */
  understood(subscription_id: string): void;
  /** Records how many changes it announced, and whether it is trusted. */
  judged(subscription_id: string, trust: Trust, trusted: 0 | 1): void;
}

export function subscriptionLearning(db: Writes): SubscriptionLearning {
  return { learn: learning(db), ...readsMade(db), ...attemptsMade(db), ...understanding(db) };
}

const changing = ({ subscription_id }: Bound<Key>) =>
  query.updateTable('_subscription').where('subscription_id', '=', subscription_id);

function learning(db: Writes): SubscriptionLearning['learn'] {
  type Learned = Key &
    Pick<Row, 'change_types' | 'entity_ids' | 'address' | 'epoch'> &
    Pick<SubscriptionFacts, 'status' | 'type' | 'at'>;
  const learn = db.change((bound: Bound<Learned>) =>
    changing(bound).set(({ eb, fn, ref }) => ({
      status_at: eb.case().when('status', 'is', bound.status).then(ref('status_at')).else(bound.at).end(),
      status: bound.status,
      held_type: fn.coalesce(bound.type, 'held_type'),
      change_types: fn.coalesce(bound.change_types, 'change_types'),
      entity_ids: fn.coalesce(bound.entity_ids, 'entity_ids'),
      epoch: eb.case().when(bound.address, 'is', null).then(ref('epoch')).else(bound.epoch).end(),
      address: fn.coalesce(bound.address, 'address'),
      checked_at: bound.at,
      read_failures: 0,
      read_not_before: null,
    })),
  );
  return (subscription_id, { change_types, entity_ids, ...facts }) => {
    const ascending = entity_ids?.toSorted((a, b) => a - b) ?? null;
    learn.run({ subscription_id, ...facts, change_types: listText(change_types), entity_ids: listText(ascending) });
  };
}

/** A list as it is stored. */
export function listText(list: readonly unknown[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}

function readsMade(
  db: Writes,
): Pick<SubscriptionLearning, 'missing' | 'unread' | 'compared' | 'delivered' | 'addressesVoid'> {
  const missing = db.change((bound: Bound<Key & { at: Instant }>) =>
    changing(bound).set(({ eb, ref }) => ({
      status_at: eb.case().when('status', 'is', 'missing').then(ref('status_at')).else(bound.at).end(),
      status: 'missing',
      held_type: null,
      change_types: null,
      address: null,
      epoch: null,
      checked_at: bound.at,
      read_failures: 0,
      read_not_before: null,
    })),
  );
  const unread = db.change((bound: Bound<Key & { failures: number; not_before: Instant }>) =>
    changing(bound).set({ read_failures: bound.failures, read_not_before: bound.not_before }),
  );
  const compared = db.change((bound: Bound<Key & { differences: string }>) =>
    changing(bound).set({ differences: bound.differences }),
  );
  const delivered = db.change((bound: Bound<Key & { at: Instant }>) =>
    changing(bound).set({ last_delivery_at: bound.at }).where('last_delivery_at', 'is not', bound.at),
  );
  const voidAddresses = db.change(() =>
    query.updateTable('_subscription').set({ address: 'foreign', epoch: null }).where('address', '=', 'ours'),
  );
  return {
    missing: (subscription_id, at) => {
      missing.run({ subscription_id, at });
    },
    unread: (subscription_id, failures, not_before) => {
      unread.run({ subscription_id, failures, not_before });
    },
    compared: (subscription_id, differences) => {
      compared.run({ subscription_id, differences: JSON.stringify(differences) });
    },
    delivered: (last) => {
      for (const [subscription_id, at] of last) delivered.run({ subscription_id, at: instant(at) });
    },
    addressesVoid: () => {
      voidAddresses.run();
    },
  };
}

function understanding(db: Writes): Pick<SubscriptionLearning, 'notUnderstood' | 'understood'> {
  const { deliveries, within_ms } = notUnderstood;
  const count = db.returning(({ subscription_id, at }: Bound<Key & { at: Instant }>) =>
    query
      .updateTable('_subscription')
      .where('subscription_id', '=', subscription_id)
      .set(({ eb, fn, or, and, ref, val }) => {
        const counts = or([
          eb('not_understood', '>=', deliveries),
          and([
            eb('not_understood', '>', 0),
            eb('not_understood_at', '>=', sql<Instant>`${at} - ${sql.lit(within_ms)}`),
          ]),
        ]);
        const more = fn<number>('min', [eb('not_understood', '+', 1), sql.lit(deliveries)]);
        return {
          not_understood: eb.case().when(counts).then(more).else(val(1)).end(),
          not_understood_at: eb.case().when(counts).then(ref('not_understood_at')).else(at).end(),
        };
      })
      .returning('not_understood'),
  );
  const clear = db.change((bound: Bound<Key>) =>
    changing(bound).set({ not_understood: 0, not_understood_at: null }).where('not_understood', '>', 0),
  );
  return {
    notUnderstood: (subscription_id, at) => count.all({ subscription_id, at })[0] ?? 0,
    understood: (subscription_id) => {
      clear.run({ subscription_id });
    },
  };
}

function attemptsMade(db: Writes): Pick<SubscriptionLearning, 'put' | 'tookOver' | 'tried' | 'judged'> {
  type Tried = Pick<Row, 'subscription_id' | 'failures' | 'failure' | 'failure_kind' | 'not_before'> & { at: Instant };
  const put = db.change((bound: Bound<Key & { at: Instant; hash: string }>) =>
    changing(bound).set({ put_at: bound.at, put_hash: bound.hash }),
  );
  const tookOver = db.change((bound: Bound<Key & { at: Instant }>) => changing(bound).set({ wrested_at: bound.at }));
  const tried = db.change((bound: Bound<Tried>) =>
    changing(bound).set({
      tried_at: bound.at,
      failures: bound.failures,
      failure: bound.failure,
      failure_kind: bound.failure_kind,
      not_before: bound.not_before,
    }),
  );
  const judged = db.change((bound: Bound<Key & Trust & { trusted: 0 | 1 }>) =>
    changing(bound).set({ announced: bound.announced, announceable: bound.announceable, trusted: bound.trusted }),
  );
  return {
    judged: (subscription_id, { announced, announceable }, trusted) => {
      judged.run({ subscription_id, announced, announceable, trusted });
    },
    put: (subscription_id, { at, hash }) => {
      put.run({ subscription_id, at, hash });
    },
    tookOver: (subscription_id, at) => {
      tookOver.run({ subscription_id, at });
    },
    tried: (subscription_id, { at, failures, failure, not_before }) => {
      const [message, kind] = [failure?.message ?? null, failure?.kind ?? null];
      tried.run({ subscription_id, at, failures, failure: message, failure_kind: kind, not_before });
    },
  };
}
