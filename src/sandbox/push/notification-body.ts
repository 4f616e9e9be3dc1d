import type { SandboxProduct } from '../world/catalogue.ts';
import type { ProductChange } from '../world/mutations.ts';

/** The member that holds the reason. The interface description shows both names (specification §2). */
export type ReasonName = 'reason_code' | 'reason' | 'both';

/** The changes of one product that are announced together, oldest first. */
export interface Announced {
  readonly product: SandboxProduct;
  readonly changes: readonly ProductChange[];
}

/** Returns the body of a notification in the documented form. */
export function notificationBody(subscription_id: string, announced: readonly Announced[], reason: ReasonName): string {
  const products = announced.map(({ product, changes }) => ({
    product_id: product.id,
    changes: changes.map((change) => printChange(change, reason)),
  }));
  return JSON.stringify({ subscription_id, products });
}

function printChange(change: ProductChange, name: ReasonName): object {
  if (change.change_type !== 'checkout_disabled') return change;
  const { change_type, reason, expected_reopening, alternative } = change;
  return {
    change_type,
    ...(name === 'reason' ? {} : { reason_code: reason }),
    ...(name === 'reason_code' ? {} : { reason }),
    expected_reopening,
    ...(alternative === null ? {} : { recommended_alternative_product_id: alternative }),
  };
}

export type LegacyChangeType = 'checkout' | 'closure' | 'content';

/**
 * Returns the older system's body: one product. Only its reason shows the direction of the change.
 */
export function legacyBody(
  { id, reason, reopen, alternative }: SandboxProduct,
  change_types: readonly LegacyChangeType[],
): string {
  const closes = change_types.some((each) => each !== 'content');
  return JSON.stringify({
    product_id: id,
    change_types,
    reason: closes ? reason : null,
    reopening_date: closes ? reopen : null,
    alternative_product_id: closes ? alternative : null,
  });
}

const legacyType: Readonly<Record<ProductChange['change_type'], LegacyChangeType>> = {
  checkout_disabled: 'checkout',
  checkout_enabled: 'checkout',
  product_details_update: 'content',
};

/** Returns the older system's names of these changes. */
export function legacyTypes(changes: readonly ProductChange[]): LegacyChangeType[] {
  return [...new Set(changes.map(({ change_type }) => legacyType[change_type]))];
}
