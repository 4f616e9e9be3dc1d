import type { Tried } from '../domain/conditions/facts.ts';
import { isReachable } from '../upstream/reach.ts';
import type { Wiring } from './wiring.ts';

/** Tries for itself what no call would show: whether the service can be reached while nothing is due, and we from outside. */
export interface ConditionTries {
  tried(): Tried;
  /** Run once a minute. */
  look(signal: AbortSignal): Promise<void>;
}

const addressEveryMs = 15 * 60_000;

export function conditionTries({
  config,
  limiter,
  serviceClock,
  subscriptions,
  ports: { clock },
}: Pick<Wiring, 'config' | 'limiter' | 'serviceClock' | 'subscriptions' | 'ports'>): ConditionTries {
  let calls = Number.NaN;
  let unreachable_since: number | null = null;
  let public_address: Tried['public_address'] = null;
  let tested = Number.NEGATIVE_INFINITY;

  async function lookForService(signal: AbortSignal): Promise<void> {
    const state = limiter.state();
    const idle = state.calls === calls && state.in_flight === 0;
    calls = state.calls;
    // Calls tell by themselves.
    if (!idle || state.unreachable_since !== null) unreachable_since = null;
    else if (await isReachable(config.service.base_url, clock, signal)) unreachable_since = null;
    else if (!signal.aborted) unreachable_since ??= clock.now();
  }

  async function testAddress(signal: AbortSignal): Promise<void> {
    if ('why' in subscriptions || clock.monotonic() - tested < addressEveryMs) return;
    tested = clock.monotonic();
    const { result, message, answered = false } = await subscriptions.work.selfTest(signal);
    const failsSince = public_address?.result === 'failed' ? public_address.since : clock.now();
    public_address = { result, message, answered, since: result === 'passed' ? clock.now() : failsSince };
  }

  return {
    tried: () => ({ unreachable_since, clock_offset_ms: serviceClock.offset(), public_address }),
    look: async (signal) => {
      await lookForService(signal);
      await testAddress(signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
  };
}
