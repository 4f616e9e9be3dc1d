import type { Clock, Instant } from '../clock.ts';
import type { Http } from './http.ts';
import type { Limiter } from './limiter.ts';
import type { Outcome } from './outcome.ts';

/** A call as it was seen from outside: nothing is decoded. */
export interface RawAnswer {
  readonly outcome: Outcome;
  /** Null where no head of an answer came. */
  readonly status: number | null;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sent_at: Instant;
  /** From sending to the end, in milliseconds. */
  readonly took_ms: number;
}

/** GETs of any path through the one limiter: for what asks how the service behaves, not what it says. */
export interface RawReads {
  get(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RawAnswer>;
}

export function createRawReads({
  http,
  limiter,
  clock,
  limits,
}: {
  readonly http: Pick<Http, 'get'>;
  readonly limiter: Pick<Limiter, 'run'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly limits: { readonly deadline_ms: number; readonly max_bytes: number };
}): RawReads {
  return {
    get: async (path, query, signal) => {
      let head: { status: number; headers: Readonly<Record<string, string>> } | null = null;
      let [sent_at, sent] = [clock.now(), clock.monotonic()];
      const ask = (turn: AbortSignal) => {
        [sent_at, sent] = [clock.now(), clock.monotonic()];
        return http.get(path, query, {
          ...limits,
          signal: turn,
          head: (status, headers) => {
            head = { status, headers };
          },
        });
      };
      const outcome = await limiter.run(ask, signal, 'notification');
      const { status, headers } = head ?? { status: null, headers: {} };
      return { outcome, status, headers, sent_at, took_ms: clock.monotonic() - sent };
    },
  };
}
