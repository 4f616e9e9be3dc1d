/**
 * Why an attempt to change a subscription did not work, as it is stored: the service said no (`missing`: it has none of
 * this id), asked for less, was not reached or did not answer usably, or our own public address did not answer.
 */
export type AttemptFailure = 'refused' | 'missing' | 'throttled' | 'unreachable' | 'failed' | 'self-test';

/** Failures in a row after which a person should know. */
const failuresTold = 3;

/** Whether a person should know of a failed attempt: what the service refuses, it refuses again, so at once. */
export function isWorthTelling(failure: AttemptFailure | null, failures: number): boolean {
  if (failure === null) return false;
  return failure === 'refused' || failure === 'missing' || failures >= failuresTold;
}

/** Nobody's failure: the service asked for less, or was not reached. */
export function isBlameless(failure: AttemptFailure): boolean {
  return failure === 'throttled' || failure === 'unreachable';
}
