import type { Instant } from '../kernel/clock.ts';
import type { Outcome } from './outcome.ts';

/** The result of a read: decoded, the same bytes as last time, or an outcome without an answer. */
export type Reading<Value> =
  | {
      readonly kind: 'read';
      readonly value: Value;
      readonly hash: string;
      /** When the service made it: when the request was sent, or earlier by the age of an answer from a cache. */
      readonly sent_at: Instant;
      /** When the request was sent; left out: at `sent_at`. */
      readonly called_at?: Instant;
      readonly bytes: number;
      /** Called with whether the stored answer changed the mirror. Absent: there was no earlier answer to compare with. */
      readonly stored?: (changed: boolean) => void;
    }
  | {
      readonly kind: 'unchanged';
      readonly hash: string;
      readonly sent_at: Instant;
      readonly called_at?: Instant;
      readonly bytes: number;
    }
  | Exclude<Outcome, { kind: 'answer' }>;
