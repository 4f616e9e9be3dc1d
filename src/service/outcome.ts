import type { Instant } from '../kernel/clock.ts';
/** Reason why an answer cannot be used: stable, kebab-case, also stored. */
export type FailureCode =
  | `status-${number}`
  | 'redirect'
  | 'not-json-type'
  | 'invalid-utf8'
  | 'bad-encoding'
  | 'too-large'
  | 'truncated'
  | 'deadline'
  | 'reset'
  | 'closed'
  | 'not-sendable'
  | 'http'
  | 'not-json'
  | 'wrong-shape'
  | 'too-deep'
  | 'no-signing-key'
  | 'adapter';

/** Result of one call to the service. Expected outcomes are values. */
export type Outcome =
  /**
   * A complete body of JSON's type: its text (empty where its hash was known before), the hash and size of its bytes after
   * inflating, when it was made, and when it was asked for.
   */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly text: string;
      /** The sha256, hexadecimal, or the fingerprint that was asked for (`passing-members.ts`). */
      readonly hash: string;
      readonly bytes: number;
      /** When the service made it: when it was asked for, or earlier by the age of an answer from a cache. */
      readonly sent_at: Instant;
      /** When it was asked for; left out: at `sent_at`. */
      readonly called_at?: Instant;
    }
  /**
   * Back-pressure: nobody calls before `until` (null: the service did not say), and no record has failed, unless what was
   * asked for is throttled `alone`. It is not asked for before it has rested.
   */
  | {
      readonly kind: 'throttled';
      readonly status: number;
      readonly until: Instant | null;
      /** It is not the service's JSON: a proxy may have answered in its place. */
      readonly proxied?: true;
      readonly rests?: { readonly until: Instant; readonly alone: boolean };
    }
  /** No connection: nothing was asked of the service. */
  | { readonly kind: 'unreachable'; readonly code: string; readonly message: string; readonly until?: Instant }
  /** The service answered no (400, 401, 403, 404, 410 …), in its own words: `code` is its own where it gave one. */
  | { readonly kind: 'refused'; readonly status: number; readonly code: string; readonly message: string }
  /**
   * Something came, and it cannot be used; `status`, where that is why. `until`: its Retry-After. `example`: the start of
   * an answer whose message does not quote it, without key and addresses.
   */
  | {
      readonly kind: 'failed';
      readonly code: FailureCode;
      readonly message: string;
      readonly status?: number;
      readonly until?: Instant;
      readonly example?: string;
    };

/** Results of a call that brought no answer. */
export type WithoutAnswer = Exclude<Outcome, { kind: 'answer' }>;

export type Throttled = Extract<Outcome, { kind: 'throttled' }>;

export type RefusedOutcome = Extract<Outcome, { kind: 'refused' }>;

export type Failed = Extract<Outcome, { kind: 'failed' }>;

export function failed(code: FailureCode, message: string): Failed {
  return { kind: 'failed', code, message };
}

/** Returns the failure of an answer whose status says that there is nothing in it to use. */
export function failedStatus(status: number, until: Instant | null = null): Failed {
  const asked = until === null ? {} : { until };
  return { ...failed(`status-${status}`, `the service answered ${status}`), status, ...asked };
}
