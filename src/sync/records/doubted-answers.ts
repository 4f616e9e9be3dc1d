import { instant } from '../../clock.ts';
import { otherDatesAlarm } from '../../domain/catalogue/answered-span.ts';
import { contradictedAlarm } from '../../domain/sale/off-sale.ts';
import type { Ports } from './context.ts';

/** Raises or clears the alarm about products that are on sale by their own read but not by their dates. */
export function updateContradictionAlarm({ mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>): void {
  const now = clock.now();
  const products = mirror.products.contradicted(instant(now - contradictedAlarm.after_ms));
  const met = products < contradictedAlarm.products ? null : { at: now, products };
  if (mirror.alarms.set('sale-contradicted', met) === 'new')
    log.error({ products }, 'products are on sale by their own reads, but their dates are answered as not on sale');
}

/** Raises or clears the alarm about products that are answered for other dates than requested. */
export function updateOtherDatesAlarm({ mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>): void {
  const products = mirror.records.unanswered();
  const met = products < otherDatesAlarm ? null : { at: clock.now(), products };
  if (mirror.alarms.set('other-dates', met) === 'new')
    log.error({ products }, 'the service answers for other dates than requested');
}
