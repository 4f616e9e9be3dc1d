import type { Variant } from '../domain/catalogue/variant.ts';
import { identifier } from '../domain/values/identifier.ts';
import { answered, elements, members, WrongShape } from './shape.ts';

/** Decodes the variants of a product (specification §2). */
export function decodeVariants(json: unknown): Variant[] {
  return decodeVariantList(answered(json).variants);
}

/** Returns the member `variants` of either answer that has one; a variant without a usable id is a wrong shape. */
export function decodeVariantList(json: unknown): Variant[] {
  const variants = elements(json, 'variants').map((element) => {
    const variant_id = identifier(members(element, 'a variant').id);
    if (variant_id === null) throw new WrongShape('a variant has no usable id');
    return { variant_id, document: JSON.stringify(element) };
  });
  return [...new Map(variants.map((variant) => [variant.variant_id, variant])).values()];
}
