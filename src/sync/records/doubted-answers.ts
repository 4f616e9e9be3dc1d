import { otherDatesAlarm } from '../../domain/catalogue/answered-span.ts';
import { contradictedAlarm } from '../../domain/sale/off-sale.ts';
import type { Ports } from './context.ts';

/** Raises or clears the alarm about products that are on sale by their own read but not by their dates. */
export function updateContradictionAlarm({ mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>): void {
  const now = clock.now();
  const products = mirror.products.contradicted(now - contradictedAlarm.after_ms);
  mirror.transaction(() => {
    if (products < contradictedAlarm.products) {
      mirror.alarms.clear('sale-contradicted');
      return;
    }
    if (mirror.alarms.raise({ kind: 'sale-contradicted', at: now, products }) === 'new')
      log.error({ products }, 'products are on sale by their own reads, but their dates are answered as not on sale');
  });
}

/** Raises or clears the alarm about products that are answered for other dates than requested. */
export function updateOtherDatesAlarm({ mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>): void {
  const products = mirror.records.unanswered();
  mirror.transaction(() => {
    if (products < otherDatesAlarm) {
      mirror.alarms.clear('other-dates');
      return;
    }
    if (mirror.alarms.raise({ kind: 'other-dates', at: clock.now(), products }) === 'new')
      log.error({ products }, 'the service answers for other dates than requested');
  });
}
