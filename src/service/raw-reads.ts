import type { Clock, Instant } from '../kernel/clock.ts';
import type { Question } from './adapter.rules.ts';
import type { Limiter } from './limiter.ts';
import type { Outcome } from './outcome.ts';
import type { ReadAnswer, ServiceAsker } from './service-asker.ts';

/** A call as it was seen from outside: its rows are not decoded. */
export interface RawAnswer {
  readonly outcome: Outcome;
  /** Content that the adapter reads from the answer; null if there is no answer. */
  readonly read: ReadAnswer | null;
  /** Null if no head of an answer came. */
  readonly status: number | null;
  /** In lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sent_at: Instant;
  /** From sending to the end, in milliseconds. */
  readonly took_ms: number;
}

/** Any question through the one limiter: for what asks how the service behaves, not what it says. */
export interface RawReads {
  /** `elsewhere` asks at a path that does not exist. */
  ask(question: Question, signal: AbortSignal, elsewhere?: 'elsewhere'): Promise<RawAnswer>;
}

export function createRawReads({
  asker,
  limiter,
  clock,
  limits,
}: {
  readonly asker: ServiceAsker;
  readonly limiter: Limiter;
  readonly clock: Clock;
  readonly limits: { readonly deadline_ms: number; readonly max_bytes: number };
}): RawReads {
  return {
    ask: async (question, signal, elsewhere) => {
      let head: { status: number; headers: Readonly<Record<string, string>> } | null = null;
      const heard = (status: number, headers: Readonly<Record<string, string>>) => {
        head = { status, headers };
      };
      let [sent_at, sent] = [clock.now(), clock.monotonic()];
      const prepared = elsewhere === undefined ? asker.prepare(question) : asker.nowhere(question);
      const came: Outcome =
        prepared.kind === 'failed'
          ? prepared
          : await limiter.run(
              (turn) => {
                [sent_at, sent] = [clock.now(), clock.monotonic()];
                return asker.send(prepared, { ...limits, signal: turn, head: heard });
              },
              signal,
              'notification',
            );
      const took_ms = clock.monotonic() - sent;
      const looked = came.kind === 'answer' ? asker.look(question, came) : null;
      const refused = looked !== null && 'kind' in looked;
      const { status, headers } = head ?? { status: null, headers: {} };
      return {
        outcome: refused ? looked : came,
        read: refused ? null : looked,
        status,
        headers,
        sent_at,
        took_ms,
      };
    },
  };
}
