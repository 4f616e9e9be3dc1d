/*
 * Limits quick retries to a share of all calls (after Finagle's retry budget). When the service is in trouble, the
 * quick ones run out, and the other retries wait longer.
 */

export interface RetryBudget {
  /** Called when a record is read. */
  readonly called: () => void;
  /** Returns whether a record may be retried soon; if so, one quick retry is spent. */
  readonly take: () => 'soon' | 'later';
}

/** Share of all reads that may be quick retries. */
const share = 0.15;
/** Most quick retries that are saved up; half of them are available at the start. */
const most = 20;

export function retryBudget(): RetryBudget {
  let left = most / 2;
  return {
    called: () => {
      left = Math.min(most, left + share);
    },
    take: () => {
      if (left < 1) return 'later';
      left -= 1;
      return 'soon';
    },
  };
}
