import { otherDatesAlarm } from '../../domain/catalogue/answered-span.ts';
import type { Sync } from './context.ts';

/** Raises or clears the alarm about products with wrong-range answers. */
export function updateOtherDatesAlarm({ mirror, clock, log }: Sync): void {
  const products = mirror.records.unanswered();
  const met = products < otherDatesAlarm ? null : { at: clock.now(), products };
  if (mirror.alarms.set('other-dates', met) === 'new')
    log.error({ products }, 'the service answers for other dates than requested');
}
