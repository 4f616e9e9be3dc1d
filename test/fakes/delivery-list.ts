import type { Clock } from '../../src/clock.ts';
import type { DeliverySource, StoredDelivery } from '../../src/sync/notifications/apply.ts';

/** Deliveries in memory, in the order in which they came. */
export interface DeliveryList extends DeliverySource {
  post(payload: unknown): number;
  states(): string[];
}

export function deliveryList(clock: Clock, subscription_id = 'all'): DeliveryList {
  const stored: (StoredDelivery & { state: string })[] = [];
  return {
    post: (payload) => {
      const body = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
      const delivery_id = stored.length + 1;
      stored.push({ delivery_id, received_at: clock.now(), subscription_id, truncated: false, body, state: 'waiting' });
      return delivery_id;
    },
    newest: () => stored.length,
    states: () => stored.map(({ state }) => state),
    after: (delivery_id, limit) =>
      stored.filter((each) => each.state === 'waiting' && each.delivery_id > delivery_id).slice(0, limit),
    transaction: (work) => work(),
    settle: (delivery_id, state) => {
      const found = stored[delivery_id - 1];
      if (found !== undefined) found.state = state;
    },
  };
}

/** What the service sends about one product. */
export function notificationOf(product_id: number, ...changes: Record<string, unknown>[]) {
  return { subscription_id: 'all', products: [{ product_id, changes }] };
}

export const disabled = (words: Record<string, unknown> = {}) => ({ change_type: 'checkout_disabled', ...words });
export const enabled = { change_type: 'checkout_enabled' };
export const updated = (field_name = 'description') => ({ change_type: 'product_details_update', field_name });
