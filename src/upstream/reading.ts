import type { Instant } from '../clock.ts';
import type { Outcome } from './outcome.ts';

/** The result of a read: decoded, the same bytes as last time, or an outcome without an answer. */
export type Reading<Value> =
  | {
      readonly kind: 'read';
      readonly value: Value;
      readonly hash: string;
      readonly sent_at: Instant;
      readonly bytes: number;
      /** Set if the bytes differ from the last answer's in nothing that fed a column so far; called if they do change one. */
      readonly matters?: () => void;
    }
  | { readonly kind: 'unchanged'; readonly hash: string; readonly sent_at: Instant; readonly bytes: number }
  | Exclude<Outcome, { kind: 'answer' }>;
