import { type Expression, type RawBuilder, sql } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/*
 * Query fragments that look up a product's data in other tables.
 */

/** Returns its title in the primary language. */
export function primaryTitle(product_id: Expression<number>) {
  return ofPrimaryText(product_id).select('t.title');
}

/** Returns its text in the primary language, as `t`. */
export function ofPrimaryText(product_id: Expression<number>) {
  return query
    .selectFrom(['_product_text as t', '_mirror as m'])
    .where('t.product_id', '=', product_id)
    .whereRef('t.language', '=', 'm.language');
}

/** Returns whether its checkout information says, in any language, that its prices are dynamic. */
export function hasDynamicPricing(product_id: Expression<number>): RawBuilder<0 | 1> {
  const said = query
    .selectFrom('checkout as c')
    .select((of) => of.lit(1).as('one'))
    .where('c.product_id', '=', product_id)
    .where('c.has_dynamic_pricing', '=', 1);
  return sql<0 | 1>`exists ${said}`;
}
