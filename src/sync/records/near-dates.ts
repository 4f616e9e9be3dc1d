import { setImmediate } from 'node:timers/promises';
import { dateInUtc } from '../../domain/time/dates.ts';
import type { Ports } from './context.ts';

/** So many dates between two turns of the event loop. */
const slice = 100;

/**
 * Writes what can be bought of the dates that have come near, from one time to the next, so that the views can leave out times
 * that have passed.
 */
export async function divideNearDates({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>, signal: AbortSignal) {
  const today = dateInUtc(clock.now());
  while (!signal.aborted && mirror.bookable.divideNear(today, slice)) await setImmediate();
}

/** So many products: all of their dates are priced. */
const fewProducts = 10;

/** Prices the dates that a version without printed prices has stored: nothing is left to do after the first time. */
export async function priceStoredDates({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>, signal: AbortSignal) {
  const by = () => ({ sent_at: clock.now(), reason: 'requested' }) as const;
  while (!signal.aborted && mirror.pricing.next(fewProducts, by())) await setImmediate();
}
