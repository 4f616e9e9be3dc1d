import type { Variant, VariantGroup, VariantsAnswer } from '../domain/catalogue/variant.ts';
import type { ListAnswer } from '../domain/service/adapter.ts';
import { variantShape } from '../domain/service/shapes.ts';
import { UnreadMembers } from '../domain/service/unread.ts';
import { identifier } from '../domain/values/identifier.ts';
import { isMembers } from '../domain/values/members.ts';

/**
 * Decodes the variants of a product, also those in its availability (specification §2). One without a usable id is a
 * wrong shape.
 */
export function decodeVariants(rows: readonly unknown[], unread: UnreadMembers): Variant[] {
  const variants = rows.map((row) => ({
    variant_id: variantShape.read(row, unread).id,
    document: JSON.stringify(row),
  }));
  return [...new Map(variants.map((variant) => [variant.variant_id, variant])).values()];
}

/** Decodes the variants read of a product. */
export function decodeVariantsRead({ rows, groups }: ListAnswer): VariantsAnswer {
  const unread = new UnreadMembers();
  const variants = decodeVariants(rows, unread);
  return { variants, groups: decodeGroups(groups), unread: unread.examples };
}

/** Returns the groups of variants that have a name. */
export function decodeGroups(sent: unknown): VariantGroup[] {
  return (Array.isArray(sent) ? sent : []).filter(isMembers).flatMap(({ id, name }) => {
    const group_id = identifier(id);
    return group_id === null || typeof name !== 'string' || name === '' ? [] : [{ group_id, name }];
  });
}
