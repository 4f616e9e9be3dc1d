import type { SignalWorth } from '../../domain/schedule/signal.ts';
import { counted, duration, number } from '../../format.ts';

/**
 * Describes the product list as a signal for changes of some dates: `shows 63 % of the changes, 4 % of its signals are
 * wrong`.
 */
export function signalText({ shows, wrong, changes, signals }: SignalWorth): string {
  if (shows === null)
    return `cannot tell yet what the list shows, by ${counted(changes, 'change')} that reads have found`;
  const right = wrong === null ? `${number(signals)} signals so far` : `${percent(wrong)} of its signals are wrong`;
  return `the list shows ${percent(shows)} of the changes, ${right}`;
}

/** Describes how often the list is walked because of that. */
export function walksText(walked_every_ms: number | null): string {
  return walked_every_ms === null ? 'walked by its cadence' : `walked every ${duration(walked_every_ms)}`;
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
