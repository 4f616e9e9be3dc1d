import type { Instant } from '../kernel/clock.ts';
import { type Bound, listed, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { query } from '../mirror/sql/sql.ts';
import { notUnderstood } from './notification.rules.ts';
import { sendingStatuses, silentStatuses } from './subscription.rules.ts';

export interface UncoveredProduct {
  readonly product_id: number;
  readonly title: string | null;
}

/** Subscriptions that send, and to us, and whose deliveries are understood. Under a word that nobody knows, one sends once a delivery has shown it. */
export const working = query
  .selectFrom('_subscription')
  .where('declared_id', 'is not', null)
  .where('status', 'not in', silentStatuses)
  .where((of) => of.or([of('status', 'in', sendingStatuses), of('last_delivery_at', '>=', of.ref('status_at'))]))
  .where('address', '=', 'ours')
  .where('not_understood', '<', notUnderstood.deliveries);

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

const uncoveredOnSale = uncovered.where('p.sellable', '=', 1);

/** The mirrored products that subscriptions cover. */
export class CoverageReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #covered = this.db.value(() =>
    query
      .selectFrom('_product')
      .select(({ fn }) => fn.countAll<number>().as('products'))
      .where('covered', '=', 1)
      .where('withdrawn_at', 'is', null),
  );
  readonly #countUncovered = this.db.value(() =>
    uncoveredOnSale.select(({ fn }) => fn.countAll<number>().as('products')),
  );
  readonly #uncovered = this.db.rows(({ limit }: Bound<{ limit: number }>) =>
    uncoveredOnSale
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

  /** Returns how many products are read less often, because a working, trusted subscription covers them. */
  covered(): number {
    return this.#covered() ?? 0;
  }

  /** Products on sale that no working subscription covers. */
  uncovered(limit: number): { readonly count: number; readonly products: readonly UncoveredProduct[] } {
    return { count: this.#countUncovered() ?? 0, products: this.#uncovered({ limit }) };
  }
}

/** The same, as it changes with what subscriptions hold, and with which of them work and are trusted. */
export class CoverageTable extends CoverageReads<Writes> {
  readonly #uncover = this.db.change(() =>
    query
      .deleteFrom('_subscription_product')
      .where(({ eb, or, refTuple }) =>
        or([
          eb('since_at', 'is', null),
          eb(refTuple('subscription_id', 'product_id'), 'not in', held.$asTuple('subscription_id', 'product_id')),
        ]),
      ),
  );
  readonly #cover = this.db.change(({ now }: Bound<{ now: Instant }>) =>
    query
      .insertInto('_subscription_product')
      .orIgnore()
      .columns(['subscription_id', 'product_id', 'since_at'])
      .expression(query.selectFrom(held.as('c')).select(['subscription_id', 'product_id', now.as('since_at')])),
  );
  readonly #everDeclared = this.db.value(() => query.selectFrom('_subscription').select('subscription_id').limit(1));
  readonly #moved = this.db.rows(({ limit }: Bound<{ limit: number }>) =>
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
  readonly #move = this.db.change(({ ids }: Bound<{ ids: string }>) =>
    query
      .updateTable('_product')
      .set(({ eb }) => ({ covered: eb('covered', '=', 0).$castTo<0 | 1>() }))
      .where('product_id', 'in', listed<number>(ids)),
  );

  /** Finds the mirrored products that each subscription covers, by the entities that it is known to hold. */
  cover(now: Instant): void {
    this.#uncover();
    this.#cover({ now });
  }

  /** Returns whether `move` would find anything: a read, where that is a write. */
  isOutdated(): boolean {
    // A subscription is never forgotten: without one, no product was ever covered, and none is looked at.
    return this.#everDeclared() !== null && this.#moved({ limit: 1 }).length > 0;
  }

  /** Finds which products a working, trusted subscription covers; returns so many at most of which that has changed. */
  move(limit: number): { readonly product_id: number; readonly covered: 0 | 1 }[] {
    const found = this.#moved({ limit });
    if (found.length > 0) this.#move({ ids: JSON.stringify(found.map(({ product_id }) => product_id)) });
    return found;
  }
}

/** Mirrored products of each subscription that the service has, by the entities that it holds. */
const held = holding('product_ids')
  .select(['s.subscription_id', 'e.value as product_id'])
  .where('e.value', 'in', ({ selectFrom }) =>
    selectFrom('_product').select('product_id').where('withdrawn_at', 'is', null),
  )
  .union(
    holding('experience_ids')
      .innerJoin('product_experiences as x', 'x.experience_id', 'e.value')
      .select(['s.subscription_id', 'x.product_id']),
  );

function holding(type: 'product_ids' | 'experience_ids') {
  return query
    .selectFrom('_subscription as s')
    .crossJoin(sql<{ value: number }>`json_each(${sql.ref('s.entity_ids')})`.as<'e'>('e'))
    .where('s.held_type', '=', type)
    .where('s.declared_id', 'is not', null)
    .where('s.status', 'is not', 'missing');
}
