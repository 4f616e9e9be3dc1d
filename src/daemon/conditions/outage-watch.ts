import type { Clock } from '../../clock.ts';
import { outageLines } from '../../domain/schedule/outage.ts';
import type { Logger } from '../../log.ts';
import type { Pause } from '../../upstream/limiter.ts';

/** Logs an outage of the service: its beginning, now and then while it lasts, and its end; never once per call. */
export interface OutageWatch {
  /** Called every second. */
  look(): void;
}

export function outageWatch(
  pause: () => Pick<Pause, 'unreachable_since'>,
  { clock, log }: { readonly clock: Pick<Clock, 'now' | 'monotonic'>; readonly log: Logger },
): OutageWatch {
  /** By the monotonic clock. */
  let outage: { readonly began_at: number; readonly told: number } | null = null;
  return {
    look: () => {
      const { unreachable_since } = pause();
      const now = clock.monotonic();
      if (unreachable_since === null) {
        if (outage !== null) log.info({ ms: Math.round(now - outage.began_at) }, 'the service answers again');
        outage = null;
        return;
      }
      const before = outage ?? { began_at: now - Math.max(0, clock.now() - unreachable_since), told: 0 };
      const lasted = now - before.began_at;
      const due = outageLines(lasted);
      outage = { ...before, told: Math.max(before.told, due) };
      if (due <= before.told) return;
      if (before.told === 0) log.warn({}, 'the service cannot be reached: readers keep what is mirrored');
      else log.warn({ minutes: Math.round(lasted / 60_000) }, 'the service still cannot be reached');
    },
  };
}
