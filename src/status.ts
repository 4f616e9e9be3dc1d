import type { Limiter } from './upstream/limiter.ts';

/** What only a running daemon knows: how it stands with the service. */
export interface LiveStatus {
  readonly calls: number;
  readonly calls_in_flight: number;
  readonly rate: number;
  readonly ceiling: number;
  readonly throttled: number;
  readonly not_before: number | null;
  readonly unreachable_since: number | null;
  /** The service's words, where it refuses the key. */
  readonly key_refused: string | null;
}

export function liveStatus(limiter: Limiter, key_refused: string | null): LiveStatus {
  const { calls, in_flight, rate, ceiling, throttled_count, not_before, unreachable_since } = limiter.state();
  return {
    calls,
    calls_in_flight: in_flight,
    rate,
    ceiling,
    throttled: throttled_count,
    not_before: not_before === 0 ? null : not_before,
    unreachable_since,
    key_refused,
  };
}
