import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, listed, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { query, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import type { Trust } from './announcement-trust.rules.ts';
import type { AddressOwner } from './callback-epoch.rules.ts';
import { notUnderstood } from './notification.rules.ts';
import type { WantedSubscription } from './subscription.rules.ts';
import type { Part } from './subscription-parts.rules.ts';
import type { AttemptFailure } from './subscription-step.rules.ts';

type Row = Tables['_subscription'];
type Key = { readonly subscription_id: string };

/** Columns of the view `subscriptions`. */
interface Shown {
  /** Null for products_i_sell: the service keeps the list. */
  readonly covered_products: number | null;
  /** From 0 to 1; null: nothing was announceable yet. */
  readonly trust: number | null;
}

/** A subscription as it is stored. */
export interface StoredSubscription
  extends Shown,
    Omit<Row, 'change_types' | 'entity_ids' | 'differences' | 'announced' | 'announceable'> {
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
  readonly differences: readonly string[];
}

/** Mirrored products or experiences that a declaration selects; null if it has no such filter. */
export interface EntityFilter {
  readonly categories: readonly string[] | null;
  readonly city_ids: readonly number[] | null;
  readonly country_ids: readonly number[] | null;
}

interface PlainFacts {
  readonly status: string;
  readonly type: string | null;
  readonly address: AddressOwner | null;
  readonly epoch: number | null;
  readonly at: Instant;
}

/** Facts from a read or a PUT. A null keeps the previous value. */
export interface SubscriptionFacts extends PlainFacts {
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
}

/** Reason why an attempt failed: `kind` decides what happens next, `message` is for people. */
export interface FailedAttempt {
  readonly kind: AttemptFailure;
  readonly message: string;
}

const shown = query
  .selectFrom('_subscription as s')
  .leftJoin('subscriptions as v', 'v.subscription_id', 's.subscription_id')
  .selectAll('s')
  .select(['v.covered_products', 'v.trust']);

/** Subscriptions as the service is known to have them. */
export class SubscriptionReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #all = this.db.rows(() =>
    shown.orderBy(({ eb }) => eb('s.declared_id', 'is', null)).orderBy('s.subscription_id'),
  );
  readonly #one = this.db.row(({ subscription_id }: Bound<Key>) =>
    shown.where('s.subscription_id', '=', subscription_id),
  );
  readonly #parts = this.db.rows(({ declared_id }: Bound<{ declared_id: string }>) =>
    query
      .selectFrom('_subscription')
      .select(['subscription_id', 'entity_ids'])
      .where('declared_id', '=', declared_id)
      .where('entity_ids', 'is not', null)
      .$narrowType<{ entity_ids: string }>(),
  );
  readonly #products = this.db.values((filter: Bound<FilterText>) =>
    visible(filter).select('p.product_id').orderBy('p.product_id'),
  );
  readonly #experiences = this.db.values((filter: Bound<FilterText>) =>
    visible(filter)
      .innerJoin('product_experiences as x', 'x.product_id', 'p.product_id')
      .select('x.experience_id')
      .distinct()
      .orderBy('x.experience_id'),
  );
  readonly #walked = this.db.value(({ resource }: Bound<{ resource: 'products' | 'experiences' }>) =>
    query.selectFrom('_walk').select('edition').where('resource', '=', resource).where('completed_at', 'is not', null),
  );
  all(): StoredSubscription[] {
    return this.#all().map(parsed);
  }

  find(subscription_id: string): StoredSubscription | null {
    const row = this.#one({ subscription_id });
    return row === null ? null : parsed(row);
  }

  /** Returns what the parts of a declaration are known to hold. */
  parts(declared_id: string): Part[] {
    return this.#parts({ declared_id }).map((row) => ({ ...row, entity_ids: JSON.parse(row.entity_ids) as number[] }));
  }

  /** Returns every visible product, or every experience with one, that the filter means; in ascending order. */
  mirrored(type: 'product_ids' | 'experience_ids', { categories, city_ids, country_ids }: EntityFilter): number[] {
    return (type === 'product_ids' ? this.#products : this.#experiences)({
      categories: listText(categories),
      city_ids: listText(city_ids),
      country_ids: listText(country_ids),
    });
  }

  /** Returns whether the lists that `mirrored` depends on have been walked to their end once. */
  isListed(type: 'product_ids' | 'experience_ids'): boolean {
    return this.#isWalked('products') && (type === 'product_ids' || this.#isWalked('experiences'));
  }

  #isWalked(resource: 'products' | 'experiences'): boolean {
    return this.#walked({ resource }) !== null;
  }
}

/** The same, with what reads, attempts and deliveries show of them. */
export class SubscriptionTable extends SubscriptionReads<Writes> {
  readonly #declare = this.db.change(({ subscription_id, declared_id, type }: Bound<WantedSubscription>) =>
    query
      .insertInto('_subscription')
      .values({ subscription_id, declared_id, type })
      .onConflict((known) => known.column('subscription_id').doUpdateSet({ declared_id, type })),
  );
  readonly #undeclare = this.db.returning(({ ids }: Bound<{ ids: string }>) =>
    query
      .updateTable('_subscription')
      .set({ declared_id: null })
      .where('declared_id', 'is not', null)
      .where('subscription_id', 'not in', listed<string>(ids))
      .returning('subscription_id'),
  );
  readonly #learn = this.db.change((learned: Bound<Learned>) =>
    changing(learned).set(({ eb, fn, ref }) => ({
      status_at: eb.case().when('status', 'is', learned.status).then(ref('status_at')).else(learned.at).end(),
      status: learned.status,
      held_type: fn.coalesce(learned.type, 'held_type'),
      change_types: fn.coalesce(learned.change_types, 'change_types'),
      entity_ids: fn.coalesce(learned.entity_ids, 'entity_ids'),
      epoch: eb.case().when(learned.address, 'is', null).then(ref('epoch')).else(learned.epoch).end(),
      address: fn.coalesce(learned.address, 'address'),
      checked_at: learned.at,
      read_failures: 0,
      read_not_before: null,
    })),
  );
  /** Records that the service has no subscription of this id. */
  readonly missing = this.db.change((bound: Bound<Key & { at: Instant }>) =>
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
  /** Records that the master secret has changed: every address that the service calls is void. */
  readonly addressesVoid = this.db.change(() =>
    query.updateTable('_subscription').set({ address: 'foreign', epoch: null }).where('address', '=', 'ours'),
  );
  /** Records a failed read, and the instant at which the next one may be attempted. */
  readonly unread = this.db.change(setBy('_subscription', ['subscription_id'], ['read_failures', 'read_not_before']));
  readonly #compared = this.db.change(setBy('_subscription', ['subscription_id'], ['differences']));
  readonly #put = this.db.change(setBy('_subscription', ['subscription_id'], ['put_at', 'put_hash']));
  readonly tookOver = this.db.change(setBy('_subscription', ['subscription_id'], ['wrested_at']));
  readonly #tried = this.db.change(
    setBy('_subscription', ['subscription_id'], ['tried_at', 'failures', 'failure', 'failure_kind', 'not_before']),
  );
  readonly #delivered = this.db.change((bound: Bound<Key & { at: Instant }>) =>
    changing(bound).set({ last_delivery_at: bound.at }).where('last_delivery_at', 'is not', bound.at),
  );
  readonly #notUnderstood = this.db.returning(({ subscription_id, at }: Bound<Key & { at: Instant }>) =>
    query
      .updateTable('_subscription')
      .where('subscription_id', '=', subscription_id)
      .set(({ eb, fn, or, and, ref, val }) => {
        const { deliveries, within_ms } = notUnderstood;
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
  /** Records a good delivery. */
  readonly understood = this.db.change((bound: Bound<Key>) =>
    changing(bound).set({ not_understood: 0, not_understood_at: null }).where('not_understood', '>', 0),
  );
  readonly #judged = this.db.change(
    setBy('_subscription', ['subscription_id'], ['announced', 'announceable', 'trusted']),
  );
  /** Those that are wanted have a row, and no other one counts as declared. Returns the ids of rows that were declared until now. */
  declare(wanted: readonly WantedSubscription[]): string[] {
    for (const each of wanted) this.#declare(each);
    return this.#undeclare({ ids: JSON.stringify(wanted.map(({ subscription_id }) => subscription_id)) });
  }

  learn(subscription_id: string, { change_types, entity_ids, ...facts }: SubscriptionFacts): void {
    const ascending = entity_ids?.toSorted((a, b) => a - b) ?? null;
    const lists = { change_types: listText(change_types), entity_ids: listText(ascending) };
    this.#learn({ subscription_id, ...facts, ...lists });
  }

  compared(subscription_id: string, differences: readonly string[]): void {
    this.#compared({ subscription_id, differences: JSON.stringify(differences) });
  }

  put(subscription_id: string, { at, hash }: { at: Instant; hash: string }): void {
    this.#put({ subscription_id, put_at: at, put_hash: hash });
  }

  /** Records an attempt that failed, or that has to prove itself (`failure` null). */
  tried(
    subscription_id: string,
    attempt: { at: Instant; failures: number; failure: FailedAttempt | null; not_before: Instant | null },
  ): void {
    const { at, failures, failure, not_before } = attempt;
    const [message, failure_kind] = [failure?.message ?? null, failure?.kind ?? null];
    this.#tried({ subscription_id, tried_at: at, failures, failure: message, failure_kind, not_before });
  }

  delivered(last: ReadonlyMap<string, number>): void {
    for (const [subscription_id, at] of last) this.#delivered({ subscription_id, at: instant(at) });
  }

  /** Records a delivery that nobody understood. Returns the number of them within an hour and since the last good one. */
  notUnderstood(subscription_id: string, at: Instant): number {
    return this.#notUnderstood({ subscription_id, at })[0] ?? 0;
  }

  /** Records how many changes it announced, and whether it is trusted. */
  judged(subscription_id: string, { announced, announceable }: Trust, trusted: 0 | 1): void {
    this.#judged({ subscription_id, announced, announceable, trusted });
  }
}

/** Lists as JSON. */
type FilterText = { [Name in keyof EntityFilter]: string | null };
type Learned = Key & PlainFacts & { change_types: string | null; entity_ids: string | null };

function visible({ categories, city_ids, country_ids }: Bound<FilterText>) {
  return query
    .selectFrom('_product as p')
    .where('p.withdrawn_at', 'is', null)
    .where(({ eb, or }) =>
      or([eb(categories, 'is', null), eb('p.category', 'in', listed<string>(categories.$notNull()))]),
    )
    .where(({ eb, or }) => or([eb(city_ids, 'is', null), eb('p.city_id', 'in', listed<number>(city_ids.$notNull()))]))
    .where(({ eb, or }) =>
      or([eb(country_ids, 'is', null), eb('p.country_id', 'in', listed<number>(country_ids.$notNull()))]),
    );
}

function changing({ subscription_id }: Bound<Key>) {
  return query.updateTable('_subscription').where('subscription_id', '=', subscription_id);
}

/** Returns a list as it is stored. */
function listText(list: readonly unknown[] | null): string | null {
  return list === null ? null : JSON.stringify(list);
}

function parsed({ announced: _, announceable: __, ...row }: Row & Shown): StoredSubscription {
  return {
    ...row,
    change_types: row.change_types === null ? null : (JSON.parse(row.change_types) as string[]),
    entity_ids: row.entity_ids === null ? null : (JSON.parse(row.entity_ids) as number[]),
    differences: JSON.parse(row.differences) as string[],
  };
}
