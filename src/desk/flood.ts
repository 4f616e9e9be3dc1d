import type { Sync } from '../schedule/sync.ts';
import type { LimiterState } from '../service/limiter.ts';

/** Share of a minute's calls from which checks are a flood, and the share below which the flood is over. */
const flood = { from: 0.5, until: 0.33 };

/** Returns a function that judges the share of checks among the calls since its last run. Call it once a minute. */
export function watchChecks({ mirror, clock, log }: Sync, state: () => LimiterState): () => void {
  let [calls, at] = [state().lanes.checkout.calls, clock.monotonic()];
  return () => {
    const { rate, lanes } = state();
    const now = clock.monotonic();
    const made = lanes.checkout.calls - calls;
    const share = made / Math.max(1, (rate * (now - at)) / 1000);
    [calls, at] = [lanes.checkout.calls, now];
    // Between the two shares the state stays.
    if (share >= flood.until && share < flood.from) return;
    const failed = share < flood.until ? null : { affected: made };
    if (mirror.status.outcomes.note('live-checks', clock.now(), failed) === 'new')
      log.warn({ calls: made, share }, 'live checks use most of the call budget');
  };
}
