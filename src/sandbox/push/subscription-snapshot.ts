import type { Notifier } from './notifier.ts';
import type { RequestedSubscription } from './subscription-request.ts';
import type { SandboxSubscriptionStatus, SandboxSubscriptions, SubscriptionCounts } from './subscriptions.ts';

/** The current state of a subscription in the service. Counts are of notifications; `held` counts products. */
export interface SubscriptionSnapshot extends SubscriptionCounts {
  readonly subscription_id: string;
  readonly type: RequestedSubscription['subscription_type'];
  readonly status: SandboxSubscriptionStatus;
  /** Null for products_i_sell. */
  readonly entity_ids: readonly number[] | null;
  readonly change_types: RequestedSubscription['change_types'];
  readonly callback_url: string;
  readonly sending: 'all' | 'none';
  readonly held: number;
}

export function snapshots(subscriptions: SandboxSubscriptions, { held }: Notifier): SubscriptionSnapshot[] {
  return subscriptions.all().map((subscription) => {
    const { subscription_id, request, sending, counts } = subscription;
    return {
      subscription_id,
      type: request.subscription_type,
      status: subscriptions.status(subscription),
      entity_ids: request.entity_ids ?? null,
      change_types: request.change_types,
      callback_url: request.callback_url,
      sending,
      ...counts,
      held: held(subscription),
    };
  });
}
