/**
 * Stored reason why an attempt to change a subscription failed: the service refused (`missing`: it has none with this
 * id), throttled, was unreachable or gave no usable answer, or our own public address did not answer.
 */
export type AttemptFailure = 'refused' | 'missing' | 'throttled' | 'unreachable' | 'failed' | 'self-test';

/** Number of failures in a row after which a person is notified. */
const failuresTold = 3;

/**
 * Returns whether a person should know about a failed attempt: at once about a refusal, because the service would
 * repeat it.
 */
export function isWorthTelling(failure: AttemptFailure | null, failures: number): boolean {
  if (failure === null) return false;
  return failure === 'refused' || failure === 'missing' || failures >= failuresTold;
}

/** Returns whether a failure is nobody's fault: the service throttled or was unreachable. */
export function isBlameless(failure: AttemptFailure): boolean {
  return failure === 'throttled' || failure === 'unreachable';
}
