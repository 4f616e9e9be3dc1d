/** Failure of an operation that is repeated; both null if its last attempt did not fail. */
export interface Failing {
  /** Reason why the last attempt failed, as the running daemon knows it. */
  readonly failure: string | null;
  /** Instant of the first of the attempts that have failed in a row. */
  readonly failing_since: number | null;
}

export const notFailing: Failing = { failure: null, failing_since: null };
