import type { Variant } from '../domain/catalogue/variant.ts';
import { identifier } from '../domain/values/identifier.ts';
import { members, missing, WrongShape } from './shape.ts';

/**
 * Decodes the variants of a product, also those in its availability (specification §2). One without a usable id is a
 * wrong shape.
 */
export function decodeVariants(rows: readonly unknown[]): Variant[] {
  const variants = rows.map((element) => {
    const { id } = members(element, 'a variant');
    const variant_id = identifier(id);
    if (id === undefined) throw missing(element, 'id of a variant');
    if (variant_id === null) throw new WrongShape('a variant has no usable id');
    return { variant_id, document: JSON.stringify(element) };
  });
  return [...new Map(variants.map((variant) => [variant.variant_id, variant])).values()];
}
