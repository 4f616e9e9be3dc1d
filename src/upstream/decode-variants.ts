import type { Variant } from '../domain/catalogue/variant.ts';
import { identifier } from '../domain/values/identifier.ts';
import { answered, elements, elementsIn, members, missing, WrongShape } from './shape.ts';

/** Decodes the variants of a product (specification §2). */
export function decodeVariants(json: unknown): Variant[] {
  return decodeVariantList(elementsIn(answered(json), 'variants'));
}

/** Returns the member `variants` of either answer that has one; a variant without a usable id is a wrong shape. */
export function decodeVariantList(json: unknown): Variant[] {
  const variants = elements(json, 'variants').map((element) => {
    const { id } = members(element, 'a variant');
    const variant_id = identifier(id);
    if (id === undefined) throw missing(element, 'id of a variant');
    if (variant_id === null) throw new WrongShape('a variant has no usable id');
    return { variant_id, document: JSON.stringify(element) };
  });
  return [...new Map(variants.map((variant) => [variant.variant_id, variant])).values()];
}
