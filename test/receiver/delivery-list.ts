import { type Applied, applyDeliveries } from '../../src/push/apply.ts';
import type { VirtualHarness } from '../fakes/virtual-harness.ts';

/** Deliveries in the inbox of a daemon without a receiver, in the order in which they came. */
export class DeliveryList {
  readonly #harness: VirtualHarness;

  constructor(harness: VirtualHarness) {
    this.#harness = harness;
  }

  /** Stores a delivery of the subscription `all`, as a receiver does. */
  post(payload: unknown): void {
    const body = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload));
    const facts = { subscription_id: 'all', epoch: 1, peer: '192.0.2.1', content_type: null, truncated: false };
    this.#deliveries.store([{ ...facts, received_at: this.#harness.clock.now(), length: body.length, body }]);
  }

  /** Applies those that wait. */
  apply(): Promise<Applied> {
    return applyDeliveries(this.#harness.daemon.sync, this.#deliveries, new AbortController().signal);
  }

  /** Returns the state of each, in order. */
  states(): string[] {
    return this.#deliveries
      .list({ since: null, state: null, limit: 1000 })
      .map(({ state }) => state)
      .reverse();
  }

  get #deliveries() {
    return this.#harness.daemon.inbox.deliveries;
  }
}

/** What the service sends about one product. */
export function notificationOf(product_id: number, ...changes: Record<string, unknown>[]) {
  return { subscription_id: 'all', products: [{ product_id, changes }] };
}

export const disabled = (words: Record<string, unknown> = {}) => ({ change_type: 'checkout_disabled', ...words });
export const enabled = { change_type: 'checkout_enabled' };
export const updated = (field_name = 'description') => ({ change_type: 'product_details_update', field_name });
