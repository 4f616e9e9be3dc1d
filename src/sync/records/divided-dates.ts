import { setImmediate } from 'node:timers/promises';
import type { Ports } from './context.ts';

/** So many dates between two turns of the event loop. */
const slice = 100;

/**
 * Writes what can be bought of dates from one time to the next, where a row still stands for the whole date: what an older
 * version has stored, and products that turned out to be elsewhere.
 */
export async function divideDates({ mirror }: Pick<Ports, 'mirror'>, signal: AbortSignal) {
  while (!signal.aborted && mirror.bookable.divide(slice)) await setImmediate();
}
