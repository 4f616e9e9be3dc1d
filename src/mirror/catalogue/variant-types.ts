import type { VariantTypes } from '../../domain/catalogue/variant.ts';
import type { Bound, Reads } from '../../sqlite/statements.ts';
import { query } from '../sql/sql.ts';

/** Whom the variants of a product are for, as its view shows them in the primary language. */
export function variantTypes(db: Reads): (product_id: number) => VariantTypes {
  const ofProduct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom(['_variant as v', '_mirror as m'])
      .select(['v.variant_id', (of) => of.ref('v.variant_type').$notNull().as('type')])
      .where('v.product_id', '=', product_id)
      .whereRef('v.language', '=', 'm.language')
      .where('v.variant_type', 'is not', null),
  );
  return (product_id) => new Map(ofProduct.all({ product_id }).map(({ variant_id, type }) => [variant_id, type]));
}
