import type { Clock } from '../../clock.ts';
import type { SandboxProduct } from '../world/catalogue.ts';
import type { RequestedSubscription } from './subscription-request.ts';

export type SandboxSubscriptionStatus = 'active' | 'degraded' | 'failed' | 'cancelled';

export interface LifeOptions {
  /** How long a subscription stays degraded before it is failed, and nothing is sent any more; null: it never is. */
  readonly fail_after_ms?: number | null;
  /** How long after it was degraded a subscription is cancelled; a month of thirty days unless it is given. */
  readonly cancel_after_ms?: number;
  /** Whether a PUT makes a degraded or failed subscription active again. A cancelled one is always created again. */
  readonly upsert?: 'revives' | 'keeps the status';
  /** What a products_i_sell subscription covers; a fifth of the catalogue unless it is given. */
  readonly sold?: readonly number[];
}

/** What the service keeps of a subscription. */
export interface Subscription {
  readonly subscription_id: string;
  readonly request: RequestedSubscription;
  /** Of the clock that never jumps; null: it works. */
  degraded_at: number | null;
  /** Changes up to this number were made before it was created. */
  readonly created_after: number;
  /** `none`: it says active, and sends nothing. */
  sending: 'all' | 'none';
  readonly counts: SubscriptionCounts;
  covers(product: SandboxProduct): boolean;
}

/** Notifications, not products: one may carry several. */
export interface SubscriptionCounts {
  /** Answered with 200. */
  delivered: number;
  /** Given up. */
  failed: number;
  /** Under way, in line, or waiting for another attempt. */
  pending: number;
  /** POSTs that were made. */
  attempts: number;
  /** Lost on purpose: dropped by a share of troubles or while `sending` is none. */
  lost: number;
}

/** The subscriptions of the one account there is. */
export interface SandboxSubscriptions {
  find(subscription_id: string): Subscription | null;
  all(): Subscription[];
  /** Creates one, or overwrites it. */
  put(subscription_id: string, request: RequestedSubscription, created_after: number): void;
  /** Makes it active, with another address where one is given. */
  reactivate(subscription_id: string, callback_url: string | null): void;
  degrade(subscription: Subscription): void;
  status(subscription: Subscription): SandboxSubscriptionStatus;
  /** Returns what a PUT would make of the status. */
  statusAfterPut(subscription_id: string): SandboxSubscriptionStatus;
}

const month = 30 * 86_400_000;

export function subscriptions(
  clock: Clock,
  sells: (product: SandboxProduct) => boolean,
  { fail_after_ms = null, cancel_after_ms = month, upsert = 'revives' }: LifeOptions,
): SandboxSubscriptions {
  const held = new Map<string, Subscription>();

  /** Time alone moves a degraded subscription on: nobody has to wait for it. */
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
