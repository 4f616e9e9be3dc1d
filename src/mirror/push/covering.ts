import type { Instant } from '../../clock.ts';
import { notUnderstood } from '../../domain/push/notification.ts';
import { sendingStatuses, silentStatuses } from '../../domain/push/subscription.ts';
import { type Bound, listed, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** Subscriptions that send, and to us, and whose deliveries are understood. Under a word that nobody knows, one sends once a delivery has shown it. */
export const working = query
  .selectFrom('_subscription')
  .where('declared_id', 'is not', null)
  .where('status', 'not in', silentStatuses)
  .where((of) => of.or([of('status', 'in', sendingStatuses), of('last_delivery_at', '>=', of.ref('status_at'))]))
  .where('address', '=', 'ours')
  .where('not_understood', '<', notUnderstood.deliveries);

export interface UncoveredProduct {
  readonly product_id: number;
  readonly title: string | null;
}

/** Mirrored products covered by subscriptions. */
export interface CoveringReads {
  /** Returns the working subscriptions that cover a product, and the change types that they announce. */
  covering(product_id: number): { readonly subscription_id: string; readonly change_types: readonly string[] }[];
  /** The mirrored products that one covers, whether it works or not; in ascending order. */
  coveredBy(subscription_id: string): number[];
  /** Returns how many products are read less often, because a working, trusted subscription covers them. */
  covered(): number;
  /** Products on sale that no working subscription covers. */
  uncovered(limit: number): { readonly count: number; readonly products: readonly UncoveredProduct[] };
}

export interface CoveringTable extends CoveringReads {
  /** Finds the mirrored products that each subscription covers, by the entities that it is known to hold. */
  cover(now: Instant): void;
  /** Returns whether `moveCovered` would find anything: a read, where that is a write. */
  isCoverageOutdated(): boolean;
  /** Finds which products a working, trusted subscription covers; returns so many at most of which that has changed. */
  moveCovered(limit: number): { readonly product_id: number; readonly covered: 0 | 1 }[];
}

/** Products, as `p`, that no working subscription covers. */
export const uncovered = query
  .selectFrom('_product as p')
  .where(({ exists, not, selectFrom }) =>
    not(
      exists(
        selectFrom('_subscription_product as c')
          .innerJoin(working.select('subscription_id').as('s'), 's.subscription_id', 'c.subscription_id')
          .select('c.product_id')
          .whereRef('c.product_id', '=', 'p.product_id'),
      ),
    ),
  );

export function coveringReads(db: Reads): CoveringReads {
  const covering = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_subscription_product as c')
      .innerJoin(working.select(['subscription_id', 'change_types']).as('s'), 's.subscription_id', 'c.subscription_id')
      .select(['s.subscription_id', 's.change_types'])
      .where('c.product_id', '=', product_id)
      .orderBy('s.subscription_id'),
  );
  const coveredBy = db.values(({ subscription_id }: Bound<{ subscription_id: string }>) =>
    query
      .selectFrom('_subscription_product')
      .select('product_id')
      .where('subscription_id', '=', subscription_id)
      .orderBy('product_id'),
  );
  const covered = db.values(() =>
    query
      .selectFrom('_product')
      .select(({ fn }) => fn.countAll<number>().as('products'))
      .where('covered', '=', 1)
      .where('withdrawn_at', 'is', null),
  );
  const bare = uncovered.where('p.sellable', '=', 1);
  const count = db.values(() => bare.select(({ fn }) => fn.countAll<number>().as('products')));
  const list = db.rows(({ limit }: Bound<{ limit: number }>) =>
    bare
      .select(({ selectFrom }) => [
        'p.product_id',
        selectFrom('_product_text as t')
          .innerJoin('_mirror as m', 'm.language', 't.language')
          .select('t.title')
          .whereRef('t.product_id', '=', 'p.product_id')
          .as('title'),
      ])
      .orderBy('p.sold', 'desc')
      .orderBy('p.product_id')
      .limit(limit),
  );
  return {
    covering: (product_id) =>
      covering
        .all({ product_id })
        .map((row) => ({ ...row, change_types: JSON.parse(row.change_types ?? '[]') as string[] })),
    coveredBy: (subscription_id) => coveredBy.all({ subscription_id }),
    covered: () => covered.get() ?? 0,
    uncovered: (limit) => ({ count: count.get() ?? 0, products: list.all({ limit }) }),
  };
}

export function coveringTable(db: Writes): CoveringTable {
  return { ...coveringReads(db), cover: findingCovered(db), ...movingCovered(db) };
}

function findingCovered(db: Writes): CoveringTable['cover'] {
  const held = (type: 'product_ids' | 'experience_ids') =>
    query
      .selectFrom('_subscription as s')
      .crossJoin(sql<{ value: number }>`json_each(${sql.ref('s.entity_ids')})`.as<'e'>('e'))
      .where('s.held_type', '=', type)
      .where('s.declared_id', 'is not', null)
      .where('s.status', 'is not', 'missing');
  const covered = held('product_ids')
    .select(['s.subscription_id', 'e.value as product_id'])
    .where('e.value', 'in', ({ selectFrom }) =>
      selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null),
    )
    .union(
      held('experience_ids')
        .innerJoin('product_experiences as x', 'x.experience_id', 'e.value')
        .select(['s.subscription_id', 'x.product_id']),
    );
  const uncover = db.change(() =>
    query
      .deleteFrom('_subscription_product')
      .where(({ eb, or, refTuple }) =>
        or([
          eb('since_at', 'is', null),
          eb(refTuple('subscription_id', 'product_id'), 'not in', covered.$asTuple('subscription_id', 'product_id')),
        ]),
      ),
  );
  const cover = db.change(({ now }: Bound<{ now: Instant }>) =>
    query
      .insertInto('_subscription_product')
      .orIgnore()
      .columns(['subscription_id', 'product_id', 'since_at'])
      .expression(query.selectFrom(covered.as('c')).select(['subscription_id', 'product_id', now.as('since_at')])),
  );
  return (now) => {
    uncover.run();
    cover.run({ now });
  };
}

function movingCovered(db: Writes): Pick<CoveringTable, 'isCoverageOutdated' | 'moveCovered'> {
  const everDeclared = db.values(() => query.selectFrom('_subscription').select('subscription_id').limit(1));
  const moved = db.rows(({ limit }: Bound<{ limit: number }>) =>
    query
      .selectFrom('_product as p')
      .select(({ eb }) => ['p.product_id', eb('p.covered', '=', 0).$castTo<0 | 1>().as('covered')])
      .where('p.withdrawn_at', 'is', null)
      // The covered products are gathered once, and not looked up again for each product: this runs every minute.
      .where(({ eb, parens, selectFrom }) =>
        eb(
          'p.covered',
          '<>',
          // Without parentheses SQL compares first, and looks for the result in the list.
          parens(
            'p.product_id',
            'in',
            selectFrom('_subscription_product as c')
              .innerJoin(working.selectAll().as('s'), 's.subscription_id', 'c.subscription_id')
              .select('c.product_id')
              .where('s.trusted', '=', 1)
              .where(
                sql.lit('product_details_update'),
                'in',
                (of) => sql<string>`(select value from json_each(${of.ref('s.change_types')}))`,
              ),
          ).$castTo<0 | 1>(),
        ),
      )
      .limit(limit),
  );
  const move = db.change(({ ids }: Bound<{ ids: string }>) =>
    query
      .updateTable('_product')
      .set(({ eb }) => ({ covered: eb('covered', '=', 0).$castTo<0 | 1>() }))
      .where('product_id', 'in', listed<number>(ids)),
  );
  return {
    // A subscription is never forgotten: without one, no product was ever covered, and none is looked at.
    isCoverageOutdated: () => everDeclared.get() !== undefined && moved.get({ limit: 1 }) !== undefined,
    moveCovered: (limit) => {
      const found = moved.all({ limit });
      if (found.length > 0) move.run({ ids: JSON.stringify(found.map(({ product_id }) => product_id)) });
      return found;
    },
  };
}
