import type { Clock } from '../../kernel/clock.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import type { SandboxChangeType } from '../world/mutations.ts';

export type SandboxSubscriptionStatus = 'active' | 'degraded' | 'failed' | 'cancelled';

export interface LifeOptions {
  /** Milliseconds from degraded to failed, when sending stops; null: never. */
  readonly fail_after_ms?: number | null;
  /** Milliseconds from degraded to cancelled. Default: thirty days. */
  readonly cancel_after_ms?: number;
  /**
   * The effect of a PUT on a degraded or failed subscription: makes it active, or keeps its status. A cancelled one is
   * always created again.
   */
  readonly upsert?: 'revives' | 'keeps the status';
  /** The products that a products_i_sell subscription covers. Default: a fifth of the catalogue. */
  readonly sold?: readonly number[];
}

/** A subscription as the service stores it. */
export interface Subscription {
  readonly subscription_id: string;
  readonly request: RequestedSubscription;
  /** Instant by the monotonic clock; null: not degraded. */
  degraded_at: number | null;
  /** The number of the last change before it was created. */
  readonly created_after: number;
  /** `none`: its status stays as it is, but nothing is sent. */
  sending: 'all' | 'none';
  readonly counts: SubscriptionCounts;
  covers(product: SandboxProduct): boolean;
}

/** Counts of notifications. One may carry several products. */
export interface SubscriptionCounts {
  /** Answered with status 200. */
  delivered: number;
  /** Given up. */
  failed: number;
  /** Being posted, in line, or waiting for another attempt. */
  pending: number;
  /** POSTs made. */
  attempts: number;
  /** Lost on purpose: dropped by the share `lost`, or while `sending` is `none`. */
  lost: number;
}

/** The subscriptions of the only account. */
export interface SandboxSubscriptions {
  find(subscription_id: string): Subscription | null;
  all(): Subscription[];
  /** Creates a subscription, or overwrites it. */
  put(subscription_id: string, request: RequestedSubscription, created_after: number): void;
  /** Makes a subscription active. `callback_url`: its new address; null: it keeps its address. */
  reactivate(subscription_id: string, callback_url: string | null): void;
  degrade(subscription: Subscription): void;
  status(subscription: Subscription): SandboxSubscriptionStatus;
  /** Returns the status that a subscription would have after a PUT. */
  statusAfterPut(subscription_id: string): SandboxSubscriptionStatus;
}

const month = 30 * 86_400_000;

export function subscriptions(
  clock: Clock,
  sells: (product: SandboxProduct) => boolean,
  { fail_after_ms = null, cancel_after_ms = month, upsert = 'revives' }: LifeOptions,
): SandboxSubscriptions {
  const held = new Map<string, Subscription>();

  /** Computes the status from the time since degradation, so that no timer is needed. */
  function status({ degraded_at }: Subscription): SandboxSubscriptionStatus {
    if (degraded_at === null) return 'active';
    const since = clock.monotonic() - degraded_at;
    if (since >= cancel_after_ms) return 'cancelled';
    return fail_after_ms !== null && since >= fail_after_ms ? 'failed' : 'degraded';
  }

  function covering({ subscription_type, entity_ids }: RequestedSubscription): Subscription['covers'] {
    const ids = new Set(entity_ids);
    switch (subscription_type) {
      case 'product_ids':
        return ({ id }) => ids.has(id);
      case 'experience_ids':
        return ({ experience_ids }) => experience_ids.some((id) => ids.has(id));
      case 'products_i_sell':
        return sells;
    }
  }

  function change(subscription: Subscription, request: RequestedSubscription, degraded_at: number | null): void {
    held.set(
      subscription.subscription_id,
      Object.assign(subscription, { request, covers: covering(request), degraded_at }),
    );
  }

  return {
    find: (subscription_id) => held.get(subscription_id) ?? null,
    all: () => [...held.values()],
    put: (subscription_id, request, created_after) => {
      const known = held.get(subscription_id);
      if (known !== undefined && status(known) !== 'cancelled')
        return change(known, request, upsert === 'revives' ? null : known.degraded_at);
      held.set(subscription_id, {
        subscription_id,
        request,
        degraded_at: null,
        created_after,
        sending: 'all',
        counts: { delivered: 0, failed: 0, pending: 0, attempts: 0, lost: 0 },
        covers: covering(request),
      });
    },
    reactivate: (subscription_id, callback_url) => {
      const known = held.get(subscription_id);
      if (known === undefined) return;
      change(known, callback_url === null ? known.request : { ...known.request, callback_url }, null);
    },
    degrade: (subscription) => {
      subscription.degraded_at ??= clock.monotonic();
    },
    status,
    statusAfterPut: (subscription_id) => {
      const known = held.get(subscription_id);
      const now = known === undefined ? 'cancelled' : status(known);
      return known === undefined || now === 'cancelled' || upsert === 'revives' ? 'active' : now;
    },
  };
}

type SandboxSubscriptionType = 'product_ids' | 'experience_ids' | 'products_i_sell';

/** The subscription that a partner requests (specification §2). */
export interface RequestedSubscription {
  readonly subscription_type: SandboxSubscriptionType;
  /** Absent for products_i_sell. */
  readonly entity_ids?: readonly number[];
  readonly change_types: readonly SandboxChangeType[];
  readonly callback_url: string;
}

/** The invalid members, each with a sentence. */
type FieldErrors = Readonly<Record<string, string>>;

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
