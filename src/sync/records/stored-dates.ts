import { setImmediate } from 'node:timers/promises';
import type { Ports } from './context.ts';

/** So many products between two turns of the event loop: all of their dates are priced. */
const fewProducts = 10;

/** Prices, and divides at their times, the stored dates of products that turned out to be elsewhere. */
export async function priceStoredDates({ mirror, clock }: Pick<Ports, 'mirror' | 'clock'>, signal: AbortSignal) {
  const by = () => ({ sent_at: clock.now(), reason: 'requested' }) as const;
  while (!signal.aborted && mirror.pricing.next(fewProducts, by())) await setImmediate();
}
