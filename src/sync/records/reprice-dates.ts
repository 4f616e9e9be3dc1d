import { setImmediate } from 'node:timers/promises';
import type { Sync } from './context.ts';

/** The number of products between two turns of the event loop. It is small because all of their dates are priced. */
const fewProducts = 10;

/**
 * Corrects the stored dates of products that turned out to be in another time zone: prices them, and divides them at
 * their times.
 */
export async function repriceDates({ mirror, clock }: Sync, signal: AbortSignal) {
  const by = () => ({ sent_at: clock.now(), reason: 'requested' }) as const;
  while (!signal.aborted && mirror.catalogue.pricing.next(fewProducts, by())) await setImmediate();
}
