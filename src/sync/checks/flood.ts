import type { LimiterState } from '../../upstream/limiter.ts';
import type { Ports } from '../records/context.ts';

/** The share of a minute's calls from which checks are a flood, and the one below which the alarm ends. */
const flood = { from: 0.5, until: 0.33 };

/** Returns a function that judges the calls of checks since its last run; call it once a minute. */
export function watchChecks(
  { mirror, clock, log }: Pick<Ports, 'mirror' | 'clock' | 'log'>,
  state: () => Pick<LimiterState, 'rate' | 'lanes'>,
): () => void {
  let [calls, at] = [state().lanes.checkout.calls, clock.monotonic()];
  return () => {
    const { rate, lanes } = state();
    const now = clock.monotonic();
    const made = lanes.checkout.calls - calls;
    const share = made / Math.max(1, (rate * (now - at)) / 1000);
    [calls, at] = [lanes.checkout.calls, now];
    // In between an alarm stays as it is.
    if (share >= flood.until && share < flood.from) return;
    const met = share < flood.until ? null : { at: clock.now(), products: made };
    if (mirror.alarms.set('checks-flood', met) === 'new')
      log.warn({ calls: made, share }, 'live checks use most of the call budget');
  };
}
