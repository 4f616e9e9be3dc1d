import type { SandboxChangeType } from '../world/mutations.ts';

export type SandboxSubscriptionType = 'product_ids' | 'experience_ids' | 'products_i_sell';

/** The subscription that a partner requests (specification §2). */
export interface RequestedSubscription {
  readonly subscription_type: SandboxSubscriptionType;
  /** Absent for products_i_sell. */
  readonly entity_ids?: readonly number[];
  readonly change_types: readonly SandboxChangeType[];
  readonly callback_url: string;
}

/** The invalid members, each with a sentence. */
export type FieldErrors = Readonly<Record<string, string>>;

const types: readonly unknown[] = [
  'product_ids',
  'experience_ids',
  'products_i_sell',
] satisfies SandboxSubscriptionType[];
const known: Readonly<Record<SandboxChangeType, true>> = {
  checkout_disabled: true,
  checkout_enabled: true,
  product_details_update: true,
};
const changeTypes: readonly unknown[] = Object.keys(known);

/** Reads a subscription object. Returns the errors of all invalid members if there are any. Ignores unknown members. */
export function readRequest(
  body: Readonly<Record<string, unknown>>,
): { request: RequestedSubscription } | { field_errors: FieldErrors } {
  const { subscription_type, entity_ids, change_types, callback_url } = body;
  const field_errors: Record<string, string> = {};
  if (!types.includes(subscription_type)) field_errors.subscription_type = 'Not a known type.';
  const ids = refuseEntities(subscription_type, entity_ids);
  if (ids !== null) field_errors.entity_ids = ids;
  if (!Array.isArray(change_types) || change_types.length === 0)
    field_errors.change_types = 'At least one change type is required.';
  else if (!change_types.every((each) => changeTypes.includes(each)))
    field_errors.change_types = 'Not a known change type.';
  if (!isCallback(callback_url)) field_errors.callback_url = 'Not a valid URL.';
  if (Object.keys(field_errors).length > 0) return { field_errors };
  return {
    request: {
      subscription_type: subscription_type as SandboxSubscriptionType,
      ...(entity_ids === undefined ? {} : { entity_ids: entity_ids as number[] }),
      change_types: [...new Set(change_types as SandboxChangeType[])],
      callback_url: callback_url as string,
    },
  };
}

/** Returns whether a value is an HTTP or HTTPS URL. */
export function isCallback(value: unknown): value is string {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value);
}

function refuseEntities(type: unknown, entity_ids: unknown): string | null {
  if (type === 'products_i_sell') return entity_ids === undefined ? null : 'Not to be given with products_i_sell.';
  if (!Array.isArray(entity_ids) || entity_ids.length === 0) return 'At least one id is required.';
  return entity_ids.every((id) => Number.isSafeInteger(id) && id > 0) ? null : 'Not all of them are integers.';
}
