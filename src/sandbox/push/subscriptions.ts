import type { Clock } from '../../clock.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import type { RequestedSubscription } from './subscription-request.ts';

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
