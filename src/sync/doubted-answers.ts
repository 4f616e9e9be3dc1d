import { contradictedAlarm } from '../domain/off-sale.ts';
import type { Ports } from './ports.ts';

/** Raises or ends the alarm about products that are on sale by their own read while their dates say otherwise. */
export function watchContradictions({ mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>): void {
  const now = clock.now();
  const products = mirror.products.contradicted(now - contradictedAlarm.after_ms);
  mirror.transaction(() => {
    if (products < contradictedAlarm.products) {
      mirror.alarms.calm('sale-contradicted');
      return;
    }
    if (mirror.alarms.raise({ kind: 'sale-contradicted', at: now, products }) === 'new')
      log.error({ products }, 'products are on sale by their own reads, and their dates are answered as not on sale');
  });
}
