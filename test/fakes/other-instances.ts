import type { SharedDeliveries } from '../../src/copies/postgres/deliveries.ts';
import type { Sharing } from '../../src/daemon/sharing/sharing.ts';
import { instant } from '../../src/kernel/clock.ts';
import type { Numbered } from '../../src/receiver/delivery.ts';

/** What a leader shares with other instances, in memory: deliveries that one of them has received. */
export class OtherInstances {
  readonly #received: Numbered[] = [];

  /** Another instance receives a delivery. */
  receive(received_at: number): void {
    this.#received.push({
      delivery_id: this.#received.length + 1,
      received_at: instant(received_at),
      subscription_id: 'all',
      epoch: 1,
      peer: '192.0.2.1',
      content_type: 'application/json',
      length: 2,
      truncated: false,
      body: Buffer.from('{}'),
    });
  }

  sharing(): Sharing {
    return {
      name: 'leader',
      leadership: { trusted: () => true, term: { number: 1, holder: 'leader' } },
      last_alive_at: null,
      begun: null,
      deliveries: {
        store: async () => undefined,
        after: async ({ delivery_id }, limit) =>
          this.#received.filter((each) => each.delivery_id > delivery_id).slice(0, limit),
        goOnAbove: async () => 0,
        prune: async () => undefined,
        heartbeat: async () => undefined,
        lastHeartbeat: async () => null,
        putEpochs: async () => undefined,
        epochs: async () => [],
      } as Partial<SharedDeliveries> as SharedDeliveries,
    };
  }
}
