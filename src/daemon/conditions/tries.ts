import type { Tried } from '../../domain/conditions/facts.ts';
import { isGone } from '../../domain/conditions/fields.ts';
import { unshownOf } from '../../domain/conditions/unshown.ts';
import { isMute } from '../../domain/push/mute.ts';
import { isReachable } from '../../upstream/reach.ts';
import type { Wiring } from '../wiring.ts';

/** Tries for itself what no call would show: whether the service can be reached while nothing is due, and we from outside. */
export interface ConditionTries {
  tried(): Tried;
  /** Run once a minute. */
  look(signal: AbortSignal): Promise<void>;
}

const addressEveryMs = 15 * 60_000;
/** Updates announced within this time are looked for in the reads that followed; a read may take some minutes. */
const announcedMs = { from: 6 * 3_600_000, to: 10 * 60_000 };
/** Of updates that must show in what we mirror; the service's own caches may take so long. */
const awaitedMs = { from: 24 * 3_600_000, to: 30 * 60_000 };
/** What the rhythm of deliveries is judged by. */
const arrivalsAtMost = 2000;

export function conditionTries({
  config,
  limiter,
  serviceClock,
  subscriptions,
  mirror,
  inbox,
  files,
  ports: { clock },
}: Pick<
  Wiring,
  'config' | 'limiter' | 'serviceClock' | 'subscriptions' | 'mirror' | 'inbox' | 'files' | 'ports'
>): ConditionTries {
  let calls = Number.NaN;
  let unreachable_since: number | null = null;
  let public_address: Tried['public_address'] = null;
  let unshown: Tried['unshown'] = null;
  let gone: Tried['gone'] = [];
  let mute: Tried['mute'] = null;
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

  function lookAtReads(): void {
    const now = clock.now();
    if (!files.isWell('mirror')) return;
    gone = mirror.fields.all().flatMap((each) => (isGone(each) ? [each.field] : []));
    unshown = unshownOf({
      told: mirror.trust.updates(now - announcedMs.from, now - announcedMs.to),
      awaited: mirror.trust.unshown(now - awaitedMs.from, now - awaitedMs.to),
    });
  }

  function listen(): void {
    if (!files.isWell('inbox')) return;
    const silent = [...inbox.deliveries.arrivals(arrivalsAtMost)].filter(([, times]) => isMute(times, clock.now()));
    const last = silent.map(([, times]) => times.at(-1) ?? 0);
    mute = silent.length === 0 ? null : { subscriptions: silent.map(([id]) => id), since: Math.min(...last) };
  }

  async function testAddress(signal: AbortSignal): Promise<void> {
    if ('why' in subscriptions) return;
    const { result, message, answered = false } = await subscriptions.work.selfTest(signal);
    const failsSince = public_address?.result === 'failed' ? public_address.since : clock.now();
    public_address = { result, message, answered, since: result === 'passed' ? clock.now() : failsSince };
  }

  return {
    tried: () => ({ unreachable_since, clock_offset_ms: serviceClock.offset(), public_address, unshown, gone, mute }),
    look: async (signal) => {
      await lookForService(signal);
      lookAtReads();
      if (clock.monotonic() - tested < addressEveryMs) return;
      tested = clock.monotonic();
      listen();
      await testAddress(signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
  };
}
