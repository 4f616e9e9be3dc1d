import { type Bound, type Reads, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { byKey, query, setBy } from '../mirror/sql/sql.ts';
import type { CategoryFacts } from './category.rules.ts';
import { hasDynamicPricing, ofPrimaryText } from './product-reads.store.ts';

type Facts = Omit<CategoryFacts, 'seller_rank'> & { readonly category: string | null };

/** Queries about categories. */
export class CategoryReads<Db extends Reads = Reads> extends Store<Db> {
  readonly #facts = this.db.rows(({ after, limit }: Bound<{ after: number; limit: number }>) =>
    matchedBy().where('p.product_id', '>', after).orderBy('p.product_id').limit(limit),
  );
  /** Returns the categories that products have now. */
  readonly inUse = this.db.values(() =>
    query
      .selectFrom('_product')
      .select((of) => of.ref('category').$notNull().as('category'))
      .distinct()
      .where('category', 'is not', null)
      .orderBy('category'),
  );
  /** Visible products of each category (null: of none): on sale, off sale, and of both those with dynamic prices. */
  readonly counts = this.db.rows(() =>
    query
      .selectFrom('_product as p')
      .select((of) => {
        const dynamic = hasDynamicPricing(of.ref('p.product_id'));
        return [
          'category',
          of.fn.sum<number>('sellable').as('on_sale'),
          sql<number>`sum(not ${of.ref('sellable')})`.as('off_sale'),
          of.fn.sum<number>(dynamic).as('dynamic'),
          of.fn.sum<number>('covered').as('covered'),
          sql<number>`sum(${of.ref('covered')} and ${dynamic})`.as('covered_dynamic'),
        ];
      })
      .where('withdrawn_at', 'is', null)
      .groupBy('category'),
  );
  /** Products that sold, as counted at `sold_at`. */
  readonly sold = this.db.rows(() =>
    query
      .selectFrom('_product')
      .select((of) => ['product_id', 'sold', of.ref('sold_at').$notNull().as('sold_at')])
      .where('sold_at', 'is not', null)
      .where('withdrawn_at', 'is', null),
  );

  /** Returns what categories match by: of visible products after one, in ascending order, `limit` of them (-1: all). */
  facts(after: number, limit: number): Facts[] {
    return this.#facts({ after, limit }).map((row) => ({
      ...row,
      experience_ids: JSON.parse(row.experience_ids) as number[],
      tag_ids: JSON.parse(row.tag_ids) as number[],
      dynamic_pricing: row.dynamic_pricing === 1,
    }));
  }
}

/** Categories of products, and tickets sold in each. */
export class CategoryTable extends CategoryReads<Writes> {
  readonly assign = this.db.change(setBy('_product', ['product_id'], ['category']));
  readonly clear = this.db.change(() =>
    query.updateTable('_product').set({ category: null }).where('category', 'is not', null),
  );
  /** Checks before orders, counted at `asked_at`; null: the product is not known. */
  readonly asked = this.db.row(byKey('_product', ['product_id'], ['asked', 'asked_at']));
  readonly countAsked = this.db.change(setBy('_product', ['product_id'], ['asked', 'asked_at']));
  /** Tickets sold, as counted now. */
  readonly countSale = this.db.change(setBy('_product', ['product_id'], ['sold', 'sold_at']));
}

function matchedBy() {
  return query
    .selectFrom('_product as p')
    .select(['p.product_id', 'p.city_id', 'p.category'])
    .select((of) => [
      of
        .selectFrom('product_experiences as x')
        .select((link) => sql<string>`json_group_array(${link.ref('x.experience_id')})`.as('ids'))
        .whereRef('x.product_id', '=', 'p.product_id')
        .$asScalar()
        .$notNull()
        .as('experience_ids'),
      of
        .selectFrom('product_tags as g')
        .select((tag) => sql<string>`json_group_array(${tag.ref('g.tag_id')})`.as('ids'))
        .whereRef('g.product_id', '=', 'p.product_id')
        .$asScalar()
        .$notNull()
        .as('tag_ids'),
      hasDynamicPricing(of.ref('p.product_id')).as('dynamic_pricing'),
      ofPrimaryText(of.ref('p.product_id'))
        .select((text) =>
          sql<
            string | null
          >`json_extract(${text.fn.coalesce('t.detail_document', 't.list_document')}, '$.supplier.name')`.as(
            'supplier',
          ),
        )
        .as('supplier'),
    ])
    .where('p.withdrawn_at', 'is', null);
}
