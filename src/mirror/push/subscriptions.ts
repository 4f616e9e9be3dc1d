import type { WantedSubscription } from '../../domain/push/subscription.ts';
import type { Part } from '../../domain/push/subscription-parts.ts';
import { type Bound, listed, type Reads, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';
import { type CoveringReads, type CoveringTable, coveringReads, coveringTable } from './covering.ts';
import { listText, type SubscriptionLearning, subscriptionLearning } from './learning.ts';

type Row = Tables['_subscription'];

/** A subscription as it is stored. */
export interface StoredSubscription
  extends Omit<Row, 'change_types' | 'entity_ids' | 'differences' | 'announced' | 'announceable'> {
  readonly change_types: readonly string[] | null;
  readonly entity_ids: readonly number[] | null;
  readonly differences: readonly string[];
  /** Null for products_i_sell: the service keeps the list. */
  readonly covered_products: number | null;
  /** From 0 to 1; null: nothing was announceable yet. */
  readonly trust: number | null;
}

/** Mirrored products or experiences that a declaration selects; null if it has no such filter. */
export interface EntityFilter {
  readonly categories: readonly string[] | null;
  readonly city_ids: readonly number[] | null;
  readonly country_ids: readonly number[] | null;
}

/** Subscriptions as the service is known to have them. */
export interface SubscriptionReads extends CoveringReads {
  all(): StoredSubscription[];
  find(subscription_id: string): StoredSubscription | null;
  /** Returns what the parts of a declaration are known to hold. */
  parts(declared_id: string): Part[];
  /** Returns every visible product, or every experience with one, that the filter means; in ascending order. */
  mirrored(type: 'product_ids' | 'experience_ids', filter: EntityFilter): number[];
  /** Returns whether the lists that `mirrored` depends on have been walked to their end once. */
  isListed(type: 'product_ids' | 'experience_ids'): boolean;
}

export interface SubscriptionTable extends SubscriptionReads, SubscriptionLearning, CoveringTable {
  /** Those that are wanted have a row, and no other one counts as declared. Returns the ids of rows that were declared until now. */
  declare(wanted: readonly WantedSubscription[]): string[];
}

export function subscriptionTable(db: Writes): SubscriptionTable {
  return { ...subscriptionReads(db), ...subscriptionLearning(db), ...coveringTable(db), declare: declaring(db) };
}

export function subscriptionReads(db: Reads): SubscriptionReads {
  const shown = query
    .selectFrom('_subscription as s')
    .leftJoin('subscriptions as v', 'v.subscription_id', 's.subscription_id')
    .selectAll('s')
    .select(['v.covered_products', 'v.trust']);
  const all = db.rows(() => shown.orderBy(({ eb }) => eb('s.declared_id', 'is', null)).orderBy('s.subscription_id'));
  const one = db.rows(({ subscription_id }: Bound<Pick<Row, 'subscription_id'>>) =>
    shown.where('s.subscription_id', '=', subscription_id),
  );
  const parts = db.rows(({ declared_id }: Bound<{ declared_id: string }>) =>
    query
      .selectFrom('_subscription')
      .select(['subscription_id', 'entity_ids'])
      .where('declared_id', '=', declared_id)
      .where('entity_ids', 'is not', null)
      .$narrowType<{ entity_ids: string }>(),
  );
  const walked = db.values(({ resource }: Bound<{ resource: 'products' | 'experiences' }>) =>
    query.selectFrom('_walk').select('edition').where('resource', '=', resource).where('completed_at', 'is not', null),
  );
  const isWalked = (resource: 'products' | 'experiences') => walked.get({ resource }) !== undefined;
  return {
    ...coveringReads(db),
    all: () => all.all().map(parsed),
    find: (subscription_id) => {
      const row = one.get({ subscription_id });
      return row === undefined ? null : parsed(row);
    },
    parts: (declared_id) =>
      parts.all({ declared_id }).map((row) => ({ ...row, entity_ids: JSON.parse(row.entity_ids) as number[] })),
    mirrored: findingMirrored(db),
    isListed: (type) => isWalked('products') && (type === 'product_ids' || isWalked('experiences')),
  };
}

function findingMirrored(db: Reads): SubscriptionReads['mirrored'] {
  type Filter = Bound<{ categories: string | null; city_ids: string | null; country_ids: string | null }>;
  const visible = ({ categories, city_ids, country_ids }: Filter) =>
    query
      .selectFrom('_product as p')
      .where('p.withdrawn_at', 'is', null)
      .where(({ eb, or }) =>
        or([eb(categories, 'is', null), eb('p.category', 'in', listed<string>(categories.$notNull()))]),
      )
      .where(({ eb, or }) => or([eb(city_ids, 'is', null), eb('p.city_id', 'in', listed<number>(city_ids.$notNull()))]))
      .where(({ eb, or }) =>
        or([eb(country_ids, 'is', null), eb('p.country_id', 'in', listed<number>(country_ids.$notNull()))]),
      );
  const products = db.values((filter: Filter) => visible(filter).select('p.product_id').orderBy('p.product_id'));
  const experiences = db.values((filter: Filter) =>
    visible(filter)
      .innerJoin('product_experiences as x', 'x.product_id', 'p.product_id')
      .select('x.experience_id')
      .distinct()
      .orderBy('x.experience_id'),
  );
  return (type, { categories, city_ids, country_ids }) =>
    (type === 'product_ids' ? products : experiences).all({
      categories: listText(categories),
      city_ids: listText(city_ids),
      country_ids: listText(country_ids),
    });
}

function declaring(db: Writes): SubscriptionTable['declare'] {
  const declare = db.change(({ subscription_id, declared_id, type }: Bound<WantedRow>) =>
    query
      .insertInto('_subscription')
      .values({ subscription_id, declared_id, type })
      .onConflict((known) => known.column('subscription_id').doUpdateSet({ declared_id, type })),
  );
  const undeclare = db.returning(({ ids }: Bound<{ ids: string }>) =>
    query
      .updateTable('_subscription')
      .set({ declared_id: null })
      .where('declared_id', 'is not', null)
      .where('subscription_id', 'not in', listed<string>(ids))
      .returning('subscription_id'),
  );
  return (wanted) => {
    for (const { subscription_id, declared_id, type } of wanted) declare.run({ subscription_id, declared_id, type });
    return undeclare.all({ ids: JSON.stringify(wanted.map(({ subscription_id }) => subscription_id)) });
  };
}

type WantedRow = Pick<WantedSubscription, 'subscription_id' | 'declared_id' | 'type'>;

function parsed({
  announced: _,
  announceable: __,
  ...row
}: Row & Pick<StoredSubscription, 'covered_products' | 'trust'>): StoredSubscription {
  return {
    ...row,
    change_types: row.change_types === null ? null : (JSON.parse(row.change_types) as string[]),
    entity_ids: row.entity_ids === null ? null : (JSON.parse(row.entity_ids) as number[]),
    differences: JSON.parse(row.differences) as string[],
  };
}
