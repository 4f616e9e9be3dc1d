import { type Bound, type Reads, sql, type Writes } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';
import { working } from './working.ts';

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
  /** Products on sale that no working subscription covers. */
  uncovered(limit: number): { readonly count: number; readonly products: readonly UncoveredProduct[] };
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
    uncovered: (limit) => ({ count: count.get() ?? 0, products: list.all({ limit }) }),
  };
}

/** Finds which mirrored products each covers, from what it is known to hold. Returns how many rows changed. */
export function findingCovered(db: Writes): () => number {
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
      .where(({ eb, refTuple }) =>
        eb(refTuple('subscription_id', 'product_id'), 'not in', covered.$asTuple('subscription_id', 'product_id')),
      ),
  );
  const cover = db.change(() =>
    query.insertInto('_subscription_product').orIgnore().columns(['subscription_id', 'product_id']).expression(covered),
  );
  return () => uncover.run().changes + cover.run().changes;
}
