/*
 * Retries that do not wait for their minute are a share of all calls (after Finagle's retry budget): where the service
 * is in trouble, the quick ones run out, and the rest waits for longer.
 */

export interface RetryBudget {
  /** A record is read. */
  readonly called: () => void;
  /** Tells whether a record may be tried again soon; if so, that one is spent. */
  readonly take: () => 'soon' | 'later';
}

/** The share of all reads that may be quick retries. */
const share = 0.15;
/** The quick retries available at the start, and the most that are saved up. */
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
